#include "sampling/json_schema/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "sampling/json_schema/text_rules.h"
#include "tokenizer/utf8.h"

namespace minfer::sampling::json_schema {
namespace {

using grammar::CodePoints;
using grammar::Grammar;
using grammar::kUnbounded;

constexpr size_t kEndless = std::numeric_limits<size_t>::max();
constexpr int kDeepest = 100;

using Characters = std::vector<CodePoints>;

const Characters kDigit = {{'0', '9'}};
const Characters kWord = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const Characters kSpace = {{'\t', '\r'}, {' ', ' '}};
const Characters kLineEnds = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

Characters ascii_except(const Characters& these) {
    Characters out = these;
    out.push_back({0x80, 0x10FFFF});
    return grammar::complement(grammar::normalized(std::move(out)));
}

size_t sum(size_t a, size_t b) { return a == kEndless || b == kEndless ? kEndless : a + b; }
size_t product(size_t a, uint32_t n) {
    if (a == 0 || n == 0) return 0;
    return a == kEndless || n == kUnbounded ? kEndless : a * n;
}

class PatternParser {
  public:
    PatternParser(Grammar& grammar, std::string_view text, std::string_view path)
        : grammar_(grammar), text_(text), path_(path) {}

    Pattern parse() {
        const Pattern all = alternatives(0);
        if (at_ != text_.size()) bad("a ')' that opens nothing");
        return all;
    }

  private:
    [[noreturn]] void bad(std::string_view found) const {
        throw FormatError("JSON schema", fmt::format("{}/pattern, at character {} of '{}'", path_, at_ + 1, text_),
                          std::string(found), "a regular expression");
    }
    [[noreturn]] void refuse(std::string_view what) const {
        throw UnsupportedError(fmt::format("JSON schema: {}/pattern: '{}': {} not done", path_, text_, what));
    }

    bool at_end() const { return at_ == text_.size(); }
    char peek() const { return at_end() ? '\0' : text_[at_]; }
    bool take(char c) {
        if (at_end() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    Pattern of(const Characters& characters) { return {string_character(grammar_, characters), 1, 1}; }
    Pattern anything() {
        if (!anything_) anything_ = of(grammar::complement({}));
        return {grammar_.repeat(anything_->expression, 0, kUnbounded), 0, kEndless};
    }

    Pattern alternatives(int depth) {
        if (depth > kDeepest) refuse("so many groups within each other are");
        std::vector<grammar::ExpressionId> choices;
        Pattern all{0, kEndless, 0};
        do {
            const Pattern one = sequence(depth);
            choices.push_back(one.expression);
            all.shortest = std::min(all.shortest, one.shortest);
            all.longest = std::max(all.longest, one.longest);
        } while (take('|'));
        all.expression = grammar_.choice(std::move(choices));
        return all;
    }

    Pattern sequence(int depth) {
        std::vector<Pattern> parts;
        const bool whole = depth == 0;
        if (whole && !take('^')) parts.push_back(anything());
        bool ends = false;
        while (!at_end() && peek() != '|' && peek() != ')') {
            if (peek() == '^' || ends) refuse("an anchor in the middle is");
            if (take('$')) {
                if (!whole) refuse("an anchor within a group is");
                ends = true;
                continue;
            }
            parts.push_back(quantified(depth));
        }
        if (whole && !ends) parts.push_back(anything());
        Pattern all{0, 0, 0};
        std::vector<grammar::ExpressionId> expressions;
        for (const Pattern& part : parts) {
            expressions.push_back(part.expression);
            all.shortest += part.shortest;
            all.longest = sum(all.longest, part.longest);
        }
        all.expression = grammar_.sequence(std::move(expressions));
        return all;
    }

    Pattern quantified(int depth) {
        const Pattern one = atom(depth);
        uint32_t min = 1, max = 1;
        if (take('*')) {
            min = 0, max = kUnbounded;
        } else if (take('+')) {
            max = kUnbounded;
        } else if (take('?')) {
            min = 0;
        } else if (take('{')) {
            min = max = number();
            if (take(',')) max = peek() == '}' ? kUnbounded : number();
            if (!take('}')) bad("no '}' after a count");
            if (max < min) bad("a range of counts that descends");
        } else {
            return one;
        }
        take('?');  // a lazy one matches the same texts
        if (peek() == '*' || peek() == '+' || peek() == '?') bad("a repetition of a repetition");
        return {grammar_.repeat(one.expression, min, max), product(one.shortest, min), product(one.longest, max)};
    }

    uint32_t number() {
        uint32_t value = 0;
        const size_t start = at_;
        for (; peek() >= '0' && peek() <= '9'; ++at_) value = std::min(value * 10 + uint32_t(peek() - '0'), 1'000'000u);
        if (at_ == start) bad("no number after '{'");
        return value;
    }

    Pattern atom(int depth) {
        if (take('(')) return group(depth);
        if (take('[')) return of(char_class());
        if (take('.')) return of(grammar::complement(kLineEnds));
        if (peek() == '\\') return of(escape(false));
        if (peek() == '*' || peek() == '+' || peek() == '?') bad("nothing to repeat");
        if (peek() == '{' || peek() == '}' || peek() == ']')
            bad("a bracket by itself; '\\' before it makes it a character");
        const uint32_t c = character();
        return of({{c, c}});
    }

    Pattern group(int depth) {
        if (take('?')) {
            if (take('<')) {
                if (peek() == '=' || peek() == '!') refuse("look-behind is");
                const size_t end = text_.find('>', at_);
                if (end == std::string_view::npos) bad("no '>' after the name of a group");
                at_ = end + 1;
            } else if (!take(':')) {
                refuse(peek() == '=' || peek() == '!' ? "look-ahead is" : "such a group is");
            }
        }
        const Pattern inner = alternatives(depth + 1);
        if (!take(')')) bad("no ')' for a '('");
        return inner;
    }

    uint32_t character() {
        const size_t n = tokenizer::first_sequence(text_.substr(at_)).length;
        const uint32_t c = decode_utf8(text_.substr(at_, n));
        at_ += n;
        return c;
    }

    Characters escape(bool in_class) {
        ++at_;
        if (at_end()) bad("a '\\' at the end");
        const uint32_t c = character();
        switch (c) {
            case 'd':
                return kDigit;
            case 'w':
                return kWord;
            case 's':
                return kSpace;
            case 'D':
                return ascii_except(kDigit);
            case 'W':
                return ascii_except(kWord);
            case 'S':
                return ascii_except(kSpace);
            case 't':
                return {{'\t', '\t'}};
            case 'n':
                return {{'\n', '\n'}};
            case 'r':
                return {{'\r', '\r'}};
            case 'f':
                return {{'\f', '\f'}};
            case 'v':
                return {{'\v', '\v'}};
            case 'x':
                return hex(2);
            case 'u':
                return hex(4);
            case 'b':
                if (in_class) return {{'\b', '\b'}};
                refuse("\\b is");
            default:
                break;
        }
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (is_letter) refuse(c >= '1' && c <= '9' ? "a back reference is" : fmt::format("\\{} is", char(c)));
        return {{c, c}};
    }

    Characters hex(int digits) {
        uint32_t value = 0;
        for (int i = 0; i < digits; ++i, ++at_) {
            const char c = peek();
            const uint32_t digit = c >= '0' && c <= '9'   ? uint32_t(c - '0')
                                   : c >= 'a' && c <= 'f' ? uint32_t(c - 'a') + 10
                                   : c >= 'A' && c <= 'F' ? uint32_t(c - 'A') + 10
                                                          : 16;
            if (digit == 16) bad("too few hexadecimal digits");
            value = value << 4 | digit;
        }
        if (value >= 0xD800 && value <= 0xDFFF) refuse("half of a surrogate pair is");
        return {{value, value}};
    }

    Characters char_class() {
        const bool negated = take('^');
        Characters all;
        while (!take(']')) {
            if (at_end()) bad("no ']' for a '['");
            const Characters first = class_member();
            if (peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
                ++at_;
                const Characters last = class_member();
                const auto single = [](const Characters& c) { return c.size() == 1 && c[0].first == c[0].last; };
                if (!single(first) || !single(last) || last[0].first < first[0].first)
                    bad("a range that does not ascend");
                all.push_back({first[0].first, last[0].last});
            } else {
                all.insert(all.end(), first.begin(), first.end());
            }
        }
        all = grammar::normalized(std::move(all));
        if (negated) all = grammar::complement(all);
        if (all.empty()) refuse("a class of no characters is");
        return all;
    }

    Characters class_member() {
        if (at_end()) bad("no ']' for a '['");
        if (peek() == '\\') return escape(true);
        const uint32_t c = character();
        return {{c, c}};
    }

    Grammar& grammar_;
    std::string_view text_, path_;
    size_t at_ = 0;
    std::optional<Pattern> anything_;
};

}  // namespace

Pattern parse_pattern(Grammar& grammar, std::string_view expression, std::string_view path) {
    return PatternParser(grammar, expression, path).parse();
}

}  // namespace minfer::sampling::json_schema
