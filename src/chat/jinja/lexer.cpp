#include "chat/jinja/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "chat/jinja/error.h"
#include "chat/jinja/string_literal.h"
#include "chat/jinja/unicode.h"

namespace minfer::chat::jinja {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 26> kOperators = {{
    {"//", "floordiv"}, {"**", "pow"},      {"==", "eq"},    {"!=", "ne"},    {">=", "gteq"},  {"<=", "lteq"},
    {"+", "add"},       {"-", "sub"},       {"/", "div"},    {"*", "mul"},    {"%", "mod"},    {"~", "tilde"},
    {"[", "lbracket"},  {"]", "rbracket"},  {"(", "lparen"}, {")", "rparen"}, {"{", "lbrace"}, {"}", "rbrace"},
    {">", "gt"},        {"<", "lt"},        {"=", "assign"}, {".", "dot"},    {":", "colon"},  {"|", "pipe"},
    {",", "comma"},     {";", "semicolon"},
}};

// One line break for all kinds, and none at the end of the template.
std::string normalize(std::string_view source) {
    std::string out;
    out.reserve(source.size());
    for (size_t i = 0; i < source.size(); ++i) {
        if (source[i] == '\r') {
            out += '\n';
            if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
        } else {
            out += source[i];
        }
    }
    if (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
}

class Lexer {
  public:
    explicit Lexer(std::string_view source) : source_(normalize(source)) {}

    std::vector<Token> run() {
        try {
            while (at_ < source_.size()) root();
            emit("eof", at_);
        } catch (const TemplateFailure& e) {
            Token& token = emit("failure", at_, e.message());
            token.failure_type = e.type() == "TemplateSyntaxError" ? "TemplateSyntaxError" : "OverflowError";
        }
        return std::move(tokens_);
    }

  private:
    bool starts(size_t i, std::string_view text) const { return source_.compare(i, text.size(), text) == 0; }
    char peek(size_t i) const { return i < source_.size() ? source_[i] : '\0'; }

    size_t skip_space(size_t i) const {
        while (i < source_.size()) {
            size_t next = i;
            if (!unicode::is_space(unicode::decode(source_, next))) break;
            i = next;
        }
        return i;
    }

    Token& emit(std::string_view type, size_t at, std::string text = {}) {
        // Tokens come in order, so lines and columns are counted on from the last one.
        while (counted_ < at && counted_ < source_.size()) {
            if (unicode::decode(source_, counted_) == '\n')
                ++position_.line, position_.column = 1;
            else
                ++position_.column;
        }
        Token token;
        token.type = type;
        token.text = std::move(text);
        token.position = position_;
        tokens_.push_back(std::move(token));
        return tokens_.back();
    }

    [[noreturn]] void fail(const std::string& message) { raise("TemplateSyntaxError", message); }

    // After "{%" and its sign: the end of `raw` or `endraw` and the tag that closes it, or 0.
    size_t raw_tag(size_t i, std::string_view name, bool plus, bool trims) const {
        i = skip_space(i);
        if (!starts(i, name)) return 0;
        i = skip_space(i + name.size());
        if (starts(i, "-%}")) return skip_space(i + 3);
        if (plus && starts(i, "+%}")) return i + 3;
        if (!starts(i, "%}")) return 0;
        return i + 2 + (trims && peek(i + 2) == '\n');
    }

    void data(size_t from, size_t to, char sign, bool is_variable) {
        std::string_view text(source_.data() + from, to - from);
        if (sign == '-') {
            while (!text.empty()) {
                size_t last = text.size() - 1;
                while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xc0) == 0x80) --last;
                size_t next = last;
                if (!unicode::is_space(unicode::decode(text, next))) break;
                text = text.substr(0, last);
            }
        } else if (sign != '+' && !is_variable) {
            // lstrip_blocks: only blanks between the line's start and the tag.
            const size_t newline = text.rfind('\n');
            const size_t line = newline == text.npos ? 0 : newline + 1;
            const size_t text_end = to;
            if ((line > 0 || line_starting_) && skip_space(from + line) >= text_end && line < text.size())
                text = text.substr(0, line);
        }
        if (!text.empty()) emit("data", from, std::string(text));
    }

    void root() {
        const size_t from = at_;
        size_t tag = from;
        while (tag < source_.size() &&
               !(source_[tag] == '{' && (peek(tag + 1) == '{' || peek(tag + 1) == '%' || peek(tag + 1) == '#')))
            ++tag;
        if (tag >= source_.size()) {
            emit("data", from, source_.substr(from));
            at_ = source_.size();
            return;
        }
        const char kind = source_[tag + 1];
        char sign = peek(tag + 2);
        if (sign != '-' && sign != '+') sign = '\0';
        const size_t after = tag + 2 + (sign != '\0');
        data(from, tag, sign, kind == '{');
        at_ = tag;
        const size_t raw = kind == '%' ? raw_tag(after, "raw", false, false) : 0;
        if (raw) {
            at_ = raw;
            line_starting_ = source_[at_ - 1] == '\n';
            raw_body();
        } else if (kind == '#') {
            at_ = after;
            comment();
        } else {
            emit(kind == '{' ? "variable_begin" : "block_begin", tag);
            at_ = after;
            line_starting_ = false;
            code(kind == '{');
        }
    }

    void raw_body() {
        for (size_t i = at_; i < source_.size(); ++i) {
            if (!starts(i, "{%")) continue;
            char sign = peek(i + 2);
            if (sign != '-' && sign != '+') sign = '\0';
            const size_t end = raw_tag(i + 2 + (sign != '\0'), "endraw", true, true);
            if (!end) continue;
            data(at_, i, sign, false);
            at_ = end;
            line_starting_ = source_[at_ - 1] == '\n';
            return;
        }
        if (at_ < source_.size()) fail("Missing end of raw directive");
    }

    void comment() {
        const size_t end = source_.find("#}", at_);
        if (end == std::string::npos) {
            if (at_ < source_.size()) fail("Missing end of comment tag");
            return;
        }
        const char before = end > at_ ? source_[end - 1] : '\0';
        at_ = end + 2;
        if (before == '-')
            at_ = skip_space(at_);
        else if (before != '+' && peek(at_) == '\n')
            ++at_;
        line_starting_ = source_[at_ - 1] == '\n';
    }

    // The inside of a tag, up to the end of it or of the template.
    void code(bool is_variable) {
        std::string open;  // the closing brackets that are due
        const std::string_view close = is_variable ? "}}" : "%}";
        while (at_ < source_.size()) {
            const size_t from = at_;
            if (open.empty()) {
                const bool minus = starts(at_, std::string("-") + std::string(close));
                const bool plus = !is_variable && starts(at_, "+%}");
                if (minus || plus || starts(at_, close)) {
                    at_ += close.size() + (minus || plus);
                    if (minus)
                        at_ = skip_space(at_);
                    else if (!is_variable && !plus && peek(at_) == '\n')
                        ++at_;
                    line_starting_ = source_[at_ - 1] == '\n';
                    emit(is_variable ? "variable_end" : "block_end", from);
                    return;
                }
            }
            at_ = skip_space(at_);
            if (at_ > from) continue;
            if (!number() && !name() && !string() && !operation(open)) {
                size_t next = at_;
                const char32_t c = unicode::decode(source_, next);
                fail(fmt::format("unexpected char {} at {}", repr_text(unicode::encode(c)),
                                 unicode::length(std::string_view(source_).substr(0, at_))));
            }
        }
    }

    // Digits with single underscores between them, from `i`; the end, or `i` where there are none.
    template <typename Is>
    size_t digits(size_t i, Is is, bool may_start_with_underscore) const {
        size_t end = i;
        while (true) {
            size_t next = end;
            if (peek(next) == '_' && (end > i || may_start_with_underscore)) ++next;
            if (!is(peek(next))) return end;
            end = next + 1;
        }
    }

    bool number() {
        const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
        if (!is_digit(peek(at_))) return false;
        const size_t from = at_;
        const size_t whole = digits(at_, is_digit, false);
        size_t end = whole;
        const auto exponent = [&](size_t i) {
            if (peek(i) != 'e' && peek(i) != 'E') return i;
            size_t from_digits = i + 1;
            if (peek(from_digits) == '+' || peek(from_digits) == '-') ++from_digits;
            const size_t to = digits(from_digits, is_digit, false);
            return to == from_digits ? i : to;
        };
        if (!(at_ > 0 && source_[at_ - 1] == '.')) {
            if (peek(whole) == '.') {
                const size_t fraction = digits(whole + 1, is_digit, false);
                if (fraction > whole + 1) end = exponent(fraction);
            }
            if (end == whole) end = exponent(whole);
        }
        if (end > whole) {
            const std::string text = without_underscores(from, end);
            double value = 0;
            const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
            if (read.ec == std::errc::result_out_of_range) value = std::strtod(text.c_str(), nullptr);
            emit("float", from).value = Value::real(value);
            at_ = end;
            return true;
        }
        int base = 10;
        size_t start = from;
        const char prefix = char(peek(from + 1) | 0x20);
        if (peek(from) == '0') {
            const auto in_base = [&](int b) {
                return [b](char c) {
                    const int v = c >= '0' && c <= '9'                     ? c - '0'
                                  : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                                           : 99;
                    return v < b;
                };
            };
            const int b = prefix == 'b' ? 2 : prefix == 'o' ? 8 : prefix == 'x' ? 16 : 0;
            size_t to = b ? digits(from + 2, in_base(b), true) : from + 2;
            if (to > from + 2) {
                base = b;
                start = from + 2;
                end = to;
            } else {  // a zero, or several
                end = digits(from, [](char c) { return c == '0'; }, false);
            }
        }
        const std::string text = without_underscores(start, end);
        int64_t value = 0;
        if (std::from_chars(text.data(), text.data() + text.size(), value, base).ec != std::errc())
            raise("OverflowError",
                  fmt::format("the integer {} does not fit 64 bits", source_.substr(from, end - from)));
        emit("integer", from).value = Value::integer(value);
        at_ = end;
        return true;
    }

    std::string without_underscores(size_t from, size_t to) const {
        std::string text;
        std::copy_if(source_.begin() + long(from), source_.begin() + long(to), std::back_inserter(text),
                     [](char c) { return c != '_'; });
        return text;
    }

    bool name() {
        size_t end = at_;
        bool identifier = true;
        while (end < source_.size()) {
            size_t next = end;
            const char32_t c = unicode::decode(source_, next);
            if (!unicode::is_word(c) && !unicode::is_identifier_part(c)) break;
            identifier &= end == at_ ? unicode::is_identifier_start(c) : unicode::is_identifier_part(c);
            end = next;
        }
        if (end == at_) return false;
        if (!identifier) fail("Invalid character in identifier");
        emit("name", at_, source_.substr(at_, end - at_));
        at_ = end;
        return true;
    }

    bool string() {
        const char quote = source_[at_];
        if (quote != '\'' && quote != '"') return false;
        size_t end = at_ + 1;
        while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
        if (end >= source_.size()) return false;
        emit("string", at_, unescape_literal(std::string_view(source_).substr(at_ + 1, end - at_ - 1)));
        at_ = end + 1;
        return true;
    }

    bool operation(std::string& open) {
        const auto found = std::ranges::find_if(kOperators, [&](const auto& o) { return starts(at_, o.first); });
        if (found == kOperators.end()) return false;
        const char c = found->first[0];
        if (c == '{') open += '}';
        if (c == '(') open += ')';
        if (c == '[') open += ']';
        if (c == '}' || c == ')' || c == ']') {
            if (open.empty()) fail(fmt::format("unexpected '{}'", c));
            const char due = open.back();
            open.pop_back();
            if (due != c) fail(fmt::format("unexpected '{}', expected '{}'", c, due));
        }
        emit(found->second, at_);
        at_ += found->first.size();
        return true;
    }

    std::string source_;
    size_t at_ = 0, counted_ = 0;
    Position position_{1, 1};
    bool line_starting_ = true;
    std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace minfer::chat::jinja
