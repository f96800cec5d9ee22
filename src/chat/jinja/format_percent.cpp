// The % operator of strings.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/utf8.h"
#include "chat/jinja/error.h"
#include "chat/jinja/format.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/unicode.h"

namespace minfer::chat::jinja {
namespace {

class PercentFormatter {
  public:
    PercentFormatter(const Value& format, const Value& arguments)
        : escapes_(format.is_markup()), arguments_(arguments) {
        for (const char32_t c : unicode::decode_all(format.text())) format_.push_back(c);
        is_mapping_ = arguments.is(Type::Dict) || arguments.is(Type::List) || arguments.is_undefined() ||
                      arguments.is(Type::Range);
    }

    std::string run() {
        while (i_ < format_.size()) {
            const char32_t c = format_[i_++];
            if (c != '%')
                append_utf8(out_, c);
            else
                directive();
            if (out_.size() > kMaxBytes) fail_too_large("text");
        }
        const bool left_over =
            arguments_.is(Type::Tuple) ? used_ < arguments_.items().size() : !single_used_ && !is_mapping_;
        if (left_over) raise_type_error("not all arguments converted during string formatting");
        return std::move(out_);
    }

  private:
    char32_t peek() {
        if (i_ >= format_.size()) raise_value_error("incomplete format");
        return format_[i_];
    }

    Value argument() {
        if (arguments_.is(Type::Tuple)) {
            if (used_ >= arguments_.items().size()) raise_type_error("not enough arguments for format string");
            return arguments_.items()[used_++];
        }
        if (std::exchange(single_used_, true)) raise_type_error("not enough arguments for format string");
        return by_key_ ? keyed_ : arguments_;
    }

    void key() {
        std::string name;
        int open = 1;
        for (++i_; i_ < format_.size(); ++i_) {
            if (format_[i_] == '(') ++open;
            if (format_[i_] == ')' && --open == 0) break;
            append_utf8(name, format_[i_]);
        }
        if (i_ >= format_.size()) raise_value_error("incomplete format key");
        ++i_;
        if (!is_mapping_) raise_type_error("format requires a mapping");
        if (arguments_.is_undefined()) fail_undefined(arguments_);
        if (!arguments_.is(Type::Dict))
            raise_type_error(fmt::format("{} indices must be integers or slices, not str", type_name(arguments_)));
        const Value* found = arguments_.as_dict().find(name);
        if (!found) raise("KeyError", repr_text(name));
        keyed_ = *found;
        by_key_ = true;
        single_used_ = false;
    }

    int64_t number() {
        int64_t n = 0;
        while (peek() >= '0' && peek() <= '9') {
            n = n * 10 + int64_t(format_[i_++] - '0');
            if (n > int64_t(kMaxBytes)) fail_too_large("text");
        }
        return n;
    }

    int64_t starred() {
        ++i_;
        const Value value = argument();
        if (!value.is_int()) raise_type_error("* wants int");
        return value.as_int();
    }

    void directive() {
        left_ = plus_ = space_ = alternate_ = zero_ = false;
        int64_t width = -1, precision = -1;
        if (peek() == '(') key();
        for (bool more = true; more;) {
            switch (peek()) {
                case '-':
                    left_ = true;
                    break;
                case '+':
                    plus_ = true;
                    break;
                case ' ':
                    space_ = true;
                    break;
                case '#':
                    alternate_ = true;
                    break;
                case '0':
                    zero_ = true;
                    break;
                default:
                    more = false;
            }
            i_ += more;
        }
        if (peek() == '*') {
            width = starred();
            if (width < 0) left_ = true, width = -width;
        } else {
            width = number();
        }
        if (peek() == '.') {
            ++i_;
            precision = peek() == '*' ? std::max<int64_t>(starred(), 0) : number();
        }
        if (peek() == 'l' || peek() == 'L' || peek() == 'h') ++i_;
        const char32_t conversion = peek();
        ++i_;
        if (conversion == '%') {
            out_ += '%';
            return;
        }
        convert(conversion, width, precision);
    }

    void convert(char32_t conversion, int64_t width, int64_t precision) {
        std::string sign, prefix, text;
        bool numeric = true;
        const Value value = argument();
        switch (conversion) {
            case 's':
            case 'r':
            case 'a':
                text = conversion == 's'   ? (escapes_ ? escape(value).text() : str(value))
                       : conversion == 'r' ? repr(value)
                                           : ascii(value);
                if (escapes_ && conversion != 's') text = escape_html(text);
                if (precision >= 0) text = cut(text, precision);
                numeric = false;
                break;
            case 'c':
                text = character(value);
                numeric = false;
                break;
            case 'd':
            case 'i':
            case 'u':
            case 'o':
            case 'x':
            case 'X':
                integer(char(conversion), value, precision, sign, prefix, text);
                break;
            case 'e':
            case 'E':
            case 'f':
            case 'F':
            case 'g':
            case 'G':
                real(char(conversion), value, precision, sign, text);
                break;
            default:
                raise_value_error(fmt::format("unsupported format character '{}' (0x{:x}) at index {}",
                                              conversion >= 32 && conversion < 127 ? unicode::encode(conversion) : "?",
                                              uint32_t(conversion), i_ - 1));
        }
        if (numeric && sign.empty()) sign = plus_ ? "+" : space_ ? " " : "";
        const size_t length = sign.size() + prefix.size() + unicode::length(text);
        const size_t space = width > int64_t(length) ? size_t(width) - length : 0;
        if (space > kMaxBytes) fail_too_large("text");
        if (left_)
            out_ += sign + prefix + text + std::string(space, ' ');
        else if (zero_ && numeric)
            out_ += sign + prefix + std::string(space, '0') + text;
        else
            out_ += std::string(space, ' ') + sign + prefix + text;
    }

    static std::string cut(const std::string& text, int64_t precision) {
        size_t byte = 0;
        for (int64_t i = 0; i < precision && byte < text.size(); ++i) unicode::decode(text, byte);
        return text.substr(0, byte);
    }

    static std::string character(const Value& value) {
        if (value.is_int()) {
            if (value.as_int() < 0 || value.as_int() > 0x10ffff)
                raise("OverflowError", "%c arg not in range(0x110000)");
            return unicode::encode(char32_t(value.as_int()));
        }
        if (!value.is_str() || value.as_str().length != 1) raise_type_error("%c requires int or char");
        return value.text();
    }

    void integer(char conversion, const Value& value, int64_t precision, std::string& sign, std::string& prefix,
                 std::string& text) {
        const bool decimal = conversion == 'd' || conversion == 'i' || conversion == 'u';
        int64_t n = 0;
        if (value.is_int()) {
            n = value.as_int();
        } else if (decimal && value.is(Type::Float)) {
            n = real_to_int(value.as_real());
        } else if (decimal && value.is_undefined()) {
            fail_undefined(value);
        } else {
            raise_type_error(fmt::format("%{} format: {} is required, not {}", conversion,
                                         decimal ? "a real number" : "an integer", type_name(value)));
        }
        if (n < 0) sign = "-";
        const uint64_t magnitude = n < 0 ? ~uint64_t(n) + 1 : uint64_t(n);
        text = conversion == 'o'   ? fmt::format("{:o}", magnitude)
               : conversion == 'x' ? fmt::format("{:x}", magnitude)
               : conversion == 'X' ? fmt::format("{:X}", magnitude)
                                   : fmt::format("{}", magnitude);
        if (precision > int64_t(text.size())) {
            if (size_t(precision) > kMaxBytes) fail_too_large("text");
            text.insert(0, size_t(precision) - text.size(), '0');
        }
        if (alternate_ && !decimal) prefix = std::string("0") + conversion;
    }

    void real(char conversion, const Value& value, int64_t precision, std::string& sign, std::string& text) const {
        if (value.is_undefined()) fail_undefined(value);
        if (!value.is_number()) raise_type_error(fmt::format("must be real number, not {}", type_name(value)));
        const double d = to_real(value);
        if (std::signbit(d) && !std::isnan(d)) sign = "-";
        text = format_real(std::fabs(d), conversion, precision < 0 ? 6 : int(std::min<int64_t>(precision, 5000)),
                           alternate_);
    }

    std::vector<char32_t> format_;
    bool escapes_;
    const Value& arguments_;
    size_t i_ = 0;
    size_t used_ = 0;           // of a tuple, in order
    bool single_used_ = false;  // the one argument that is no tuple, or the value of the last key
    bool is_mapping_ = false, by_key_ = false;
    Value keyed_;
    bool left_ = false, plus_ = false, space_ = false, alternate_ = false, zero_ = false;
    std::string out_;
};

}  // namespace

std::string percent_format(const Value& format, const Value& arguments) {
    return PercentFormatter(format, arguments).run();
}

}  // namespace minfer::chat::jinja
