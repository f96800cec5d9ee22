#include "sampling/grammar/gbnf_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/utf8.h"

namespace minfer::sampling::grammar {
namespace {

constexpr int kDeepest = 200;  // parentheses within parentheses
constexpr size_t kMostRules = 20000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || is_digit(c); }

class Parser {
  public:
    Parser(std::string_view text, const FindToken& find_token) : text_(text), find_token_(find_token) {}

    Grammar parse() {
        skip_space(true);
        while (!at_end()) rule();
        for (const auto& [name, id] : ids_) {
            if (!defined_[id]) fail_at(first_use_[id], fmt::format("no rule '{}'", name), "one for each name");
        }
        const auto root = ids_.find("root");
        if (root == ids_.end()) fail_at(0, "no rule 'root'", "one, where text starts");
        grammar_.root = root->second;
        check_left_recursion(grammar_);
        return std::move(grammar_);
    }

  private:
    bool at_end() const { return at_ == text_.size(); }
    char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

    [[noreturn]] void fail_at(size_t at, const std::string& found, const std::string& expected) const {
        const std::string_view before = text_.substr(0, at);
        const size_t line = size_t(std::ranges::count(before, '\n')) + 1;
        const size_t column = at - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
        throw FormatError("grammar", fmt::format("line {}, column {}", line, column), found, expected);
    }
    std::string shown() const {
        if (at_end()) return "the end";
        if (peek() == '\n') return "the end of the line";
        return fmt::format("'{}'",
                           text_.substr(at_, std::max(size_t(1), tokenizer::first_sequence(text_.substr(at_)).length)));
    }
    [[noreturn]] void fail(const std::string& expected) const { fail_at(at_, shown(), expected); }

    void skip_space(bool newlines) {
        for (; !at_end(); ++at_) {
            const char c = peek();
            if (c == '#') {
                at_ = std::min(text_.find_first_of("\r\n", at_), text_.size()) - 1;
            } else if (c != ' ' && c != '\t' && !(newlines && (c == '\r' || c == '\n'))) {
                return;
            }
        }
    }

    RuleId rule_id(std::string_view name) {
        const auto [at, is_new] = ids_.try_emplace(std::string(name), RuleId(grammar_.rules.size()));
        if (is_new) {
            if (grammar_.rules.size() == kMostRules) fail(fmt::format("at most {} rules", kMostRules));
            grammar_.rules.push_back({std::string(name)});
            defined_.push_back(false);
            first_use_.push_back(at_);
        }
        return at->second;
    }

    std::string_view name() {
        const size_t start = at_;
        while (is_name(peek())) ++at_;
        if (at_ == start) fail("the name of a rule, of letters, digits and '-'");
        return text_.substr(start, at_ - start);
    }

    void rule() {
        const size_t start = at_;
        const std::string_view its_name = name();
        const size_t after = std::exchange(at_, start);
        const RuleId id = rule_id(its_name);
        if (defined_[id]) fail_at(start, fmt::format("a second rule '{}'", its_name), "one for each name");
        defined_[id] = true;
        at_ = after;
        skip_space(false);
        if (!text_.substr(at_).starts_with("::=")) fail("'::='");
        at_ += 3;
        skip_space(true);
        grammar_.rules[id].body = choices(0);
        if (!at_end() && peek() != '\r' && peek() != '\n') fail("something of a rule, or the end of the line");
        skip_space(true);
    }

    ExpressionId choices(int depth) {
        if (depth > kDeepest) fail(fmt::format("at most {} parentheses within each other", kDeepest));
        std::vector<ExpressionId> parts = {sequence(depth)};
        while (peek() == '|') {
            ++at_;
            skip_space(true);
            parts.push_back(sequence(depth));
        }
        return grammar_.choice(std::move(parts));
    }

    ExpressionId sequence(int depth) {
        std::vector<ExpressionId> parts;
        while (const std::optional<ExpressionId> part = item(depth)) {
            parts.push_back(*part);
            skip_space(depth > 0);
            while (repetition(parts.back())) skip_space(depth > 0);
        }
        return grammar_.sequence(std::move(parts));
    }

    std::optional<ExpressionId> item(int depth) {
        switch (peek()) {
            case '"':
                return literal();
            case '[':
                return char_class();
            case '.':
                ++at_;
                return grammar_.one_of(complement({}));
            case '<':
            case '!':
                return token();
            case '(': {
                ++at_;
                skip_space(true);
                const ExpressionId inner = choices(depth + 1);
                if (peek() != ')') fail("')'");
                ++at_;
                return inner;
            }
            case '*':
            case '+':
            case '?':
            case '{':
                fail("something to repeat before it");
            default:
                break;
        }
        if (!is_name(peek())) return std::nullopt;
        const size_t start = at_;
        const std::string_view its_name = name();
        const size_t after = std::exchange(at_, start);
        const RuleId id = rule_id(its_name);
        at_ = after;
        return grammar_.call(id);
    }

    ExpressionId literal() {
        ++at_;
        std::string bytes;
        while (peek() != '"') append_utf8(bytes, character("'\"'"));
        ++at_;
        return grammar_.literal(std::move(bytes));
    }

    ExpressionId char_class() {
        const size_t start = at_++;
        const bool negated = peek() == '^';
        if (negated) ++at_;
        std::vector<CodePoints> ranges;
        while (peek() != ']' || at_end()) {
            const size_t range_start = at_;
            CodePoints range{};
            range.first = range.last = character("']'");
            if (peek() == '-' && peek(1) != ']') {
                ++at_;
                range.last = character("']'");
            }
            if (range.last < range.first)
                fail_at(range_start, fmt::format("'{}'", text_.substr(range_start, at_ - range_start)),
                        "a range that ascends");
            ranges.push_back(range);
        }
        ++at_;
        if (ranges.empty())
            fail_at(start, fmt::format("'{}'", text_.substr(start, at_ - start)), "at least one character");
        return grammar_.one_of(negated ? complement(normalized(std::move(ranges))) : std::move(ranges));
    }

    uint32_t character(const char* end_of_it) {
        if (at_end()) fail(end_of_it);
        if (peek() == '\\') return escape();
        const tokenizer::Utf8Sequence s = tokenizer::first_sequence(text_.substr(at_));
        if (s.state != tokenizer::Utf8Sequence::State::Whole) fail_at(at_, "bytes that are not UTF-8", "text");
        const uint32_t c = decode_utf8(text_.substr(at_, s.length));
        at_ += s.length;
        return c;
    }

    uint32_t escape() {
        const char c = peek(1);
        const size_t start = at_;
        at_ += 2;
        switch (c) {
            case 'x':
                return hex(2);
            case 'u':
                return hex(4);
            case 'U':
                return hex(8);
            case 't':
                return '\t';
            case 'r':
                return '\r';
            case 'n':
                return '\n';
            case '\\':
            case '"':
            case '[':
            case ']':
            case '-':
                return uint32_t(c);
            default:
                at_ = start;
                fail_at(start, fmt::format("'{}'", text_.substr(start, 2)),
                        R"(\x, \u, \U, \t, \r, \n, \\, \", \[, \] or \-)");
        }
    }

    uint32_t hex(int digits) {
        const size_t start = at_ - 2;
        uint32_t value = 0;
        for (int i = 0; i < digits; ++i, ++at_) {
            const char c = peek();
            const int digit = is_digit(c)            ? c - '0'
                              : c >= 'a' && c <= 'f' ? c - 'a' + 10
                              : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                     : -1;
            if (digit < 0) fail(fmt::format("{} hexadecimal digits", digits));
            value = value << 4 | uint32_t(digit);
        }
        if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
            fail_at(start, fmt::format("'{}'", text_.substr(start, at_ - start)), "a character of Unicode");
        return value;
    }

    ExpressionId token() {
        Expression e{.kind = Expression::Kind::Token};
        e.negated = peek() == '!';
        if (e.negated) ++at_;
        const size_t start = at_;
        if (peek() != '<') fail("'<', the start of a token");
        const size_t end = text_.find('>', at_);
        if (end == std::string_view::npos) fail("'>', the end of the token");
        const std::string_view spelled = text_.substr(start, end + 1 - start);
        if (spelled.starts_with("<[")) {
            at_ += 2;
            e.token = int32_t(number("the id of a token"));
            if (!text_.substr(at_).starts_with("]>")) fail("']>'");
            at_ += 2;
        } else {
            const std::optional<int32_t> found = find_token_(spelled);
            if (!found) fail_at(start, fmt::format("'{}'", spelled), "a token of the vocabulary");
            e.token = *found;
            at_ = end + 1;
        }
        return grammar_.add(std::move(e));
    }

    uint32_t number(const char* expected) {
        if (!is_digit(peek())) fail(expected);
        uint32_t value = 0;
        for (; is_digit(peek()); ++at_) {
            if (value > 100'000'000) fail("a smaller number");
            value = value * 10 + uint32_t(peek() - '0');
        }
        return value;
    }

    // Whether a repetition follows `part`, which then becomes it.
    bool repetition(ExpressionId& part) {
        const char c = peek();
        if (c == '*' || c == '+' || c == '?') {
            ++at_;
            part = grammar_.repeat(part, c == '+' ? 1 : 0, c == '?' ? 1 : kUnbounded);
            return true;
        }
        if (c != '{') return false;
        const size_t start = at_++;
        skip_space(false);
        const uint32_t min = number("how many times at least");
        uint32_t max = min;
        skip_space(false);
        if (peek() == ',') {
            ++at_;
            skip_space(false);
            max = is_digit(peek()) ? number("how many times at most") : kUnbounded;
            skip_space(false);
        }
        if (peek() != '}') fail("'}'");
        ++at_;
        if (max < min) fail_at(start, fmt::format("'{}'", text_.substr(start, at_ - start)), "a range that ascends");
        part = grammar_.repeat(part, min, max);
        return true;
    }

    std::string_view text_;
    const FindToken& find_token_;
    size_t at_ = 0;
    Grammar grammar_;
    std::map<std::string, RuleId, std::less<>> ids_;
    std::vector<bool> defined_;
    std::vector<size_t> first_use_;
};

}  // namespace

Grammar parse_gbnf(std::string_view text, const FindToken& find_token) { return Parser(text, find_token).parse(); }

}  // namespace minfer::sampling::grammar
