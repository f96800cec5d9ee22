// Format specifications: [[fill]align][sign][z][#][0][width][grouping][.precision][type].
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "base/utf8.h"
#include "chat/jinja/error.h"
#include "chat/jinja/format.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/unicode.h"

namespace minfer::chat::jinja {
namespace {

struct Spec {
    char32_t fill = ' ';
    char align = '\0';
    char sign = '\0';
    bool no_negative_zero = false, alternate = false;
    int64_t width = -1, precision = -1;
    char grouping = '\0';
    char32_t type = 0;
};

bool is_align(char32_t c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

Spec parse_spec(std::string_view text, std::string_view type) {
    const std::vector<char32_t> c = unicode::decode_all(text);
    size_t i = 0;
    Spec spec;
    bool has_fill = false;
    const auto at = [&](size_t k) { return k < c.size() ? c[k] : U'\0'; };
    if (c.size() >= 2 && is_align(c[1])) {
        spec.fill = c[0];
        spec.align = char(c[1]);
        has_fill = true;
        i = 2;
    } else if (is_align(at(0))) {
        spec.align = char(c[i++]);
    }
    if (at(i) == '+' || at(i) == '-' || at(i) == ' ') spec.sign = char(c[i++]);
    if (at(i) == 'z') spec.no_negative_zero = true, ++i;
    if (at(i) == '#') spec.alternate = true, ++i;
    if (!has_fill && at(i) == '0') {
        spec.fill = '0';
        if (!spec.align && type != "str" && type != "Markup") spec.align = '=';
        ++i;
    }
    const auto number = [&](int64_t& to) {
        const size_t from = i;
        int64_t n = 0;
        while (unicode::decimal_value(at(i)) >= 0) {
            n = n * 10 + unicode::decimal_value(c[i++]);
            if (n > std::numeric_limits<int64_t>::max() / 10 - 1)
                raise_value_error("Too many decimal digits in format string");
        }
        if (n > int64_t(kMaxBytes)) fail_too_large("text");
        if (i > from) to = n;
        return i > from;
    };
    number(spec.width);
    if (at(i) == ',') spec.grouping = ',', ++i;
    if (at(i) == '_') {
        if (spec.grouping) raise_value_error("Cannot specify both ',' and '_'.");
        spec.grouping = '_';
        ++i;
    }
    if (at(i) == ',' && spec.grouping) raise_value_error("Cannot specify both ',' and '_'.");
    if (at(i) == '.') {
        ++i;
        if (!number(spec.precision)) raise_value_error("Format specifier missing precision");
    }
    if (c.size() - i > 1)
        raise_value_error(fmt::format("Invalid format specifier '{}' for object of type '{}'", text, type));
    if (c.size() - i == 1) spec.type = c[i];
    if (spec.grouping) {
        const std::string_view allowed = spec.grouping == ',' ? "deEfFgG%" : "deEfFgG%boxX";
        if (spec.type && allowed.find(char(spec.type)) == allowed.npos)
            raise_value_error(fmt::format("Cannot specify '{}' with '{}'.", spec.grouping, unicode::encode(spec.type)));
    }
    return spec;
}

std::string pad(const Spec& spec, const std::string& text, char default_align) {
    const size_t length = unicode::length(text);
    if (spec.width <= int64_t(length)) return text;
    const size_t space = size_t(spec.width) - length;
    const char align = spec.align ? spec.align : default_align;
    const size_t left = align == '>' ? space : align == '^' ? space / 2 : 0;
    std::string out;
    for (size_t i = 0; i < left; ++i) append_utf8(out, spec.fill);
    out += text;
    for (size_t i = left; i < space; ++i) append_utf8(out, spec.fill);
    return out;
}

// sign and prefix, then digits (whole part and what follows it), padded between them for '='.
std::string pad_number(const Spec& spec, const std::string& head, std::string whole, const std::string& rest) {
    const size_t group = spec.type && std::string_view("boxX").find(char(spec.type)) != std::string_view::npos ? 4 : 3;
    const bool inner = spec.align == '=';
    if (spec.grouping) {
        if (inner && spec.fill == '0' && spec.width > 0) {
            // Zeros are grouped too: add them until the width is reached.
            while (int64_t(head.size() + grouped(whole, spec.grouping, group).size() + rest.size()) < spec.width)
                whole.insert(0, 1, '0');
        }
        whole = grouped(whole, spec.grouping, group);
        if (spec.fill == '0' && inner && whole.starts_with(spec.grouping)) whole.insert(0, 1, '0');
    }
    const std::string text = whole + rest;
    if (!inner) return pad(spec, head + text, '>');
    std::string out = head;
    for (int64_t n = int64_t(head.size() + text.size()); n < spec.width; ++n) append_utf8(out, spec.fill);
    return out + text;
}

std::string sign_of(const Spec& spec, bool negative) {
    if (negative) return "-";
    return spec.sign == '+' ? "+" : spec.sign == ' ' ? " " : "";
}

[[noreturn]] void fail_code(const Spec& spec, std::string_view type) {
    if (spec.type > 32 && spec.type < 128)
        raise_value_error(fmt::format("Unknown format code '{}' for object of type '{}'", char(spec.type), type));
    raise_value_error(fmt::format("Unknown format code '\\x{:x}' for object of type '{}'", uint32_t(spec.type), type));
}

std::string format_text(const std::string& text, const Spec& spec, std::string_view type) {
    if (spec.sign) {
        raise_value_error(spec.sign == ' ' ? "Space not allowed in string format specifier"
                                           : "Sign not allowed in string format specifier");
    }
    if (spec.no_negative_zero) raise_value_error("Negative zero coercion (z) not allowed in string format specifier");
    if (spec.alternate) raise_value_error("Alternate form (#) not allowed in string format specifier");
    if (spec.align == '=') raise_value_error("'=' alignment not allowed in string format specifier");
    if (spec.type && spec.type != 's') fail_code(spec, type);
    if (spec.grouping) raise_value_error(fmt::format("Cannot specify '{}' with 's'.", spec.grouping));
    std::string cut = text;
    if (spec.precision >= 0 && spec.precision < int64_t(unicode::length(text))) {
        size_t byte = 0;
        for (int64_t i = 0; i < spec.precision; ++i) unicode::decode(text, byte);
        cut = text.substr(0, byte);
    }
    return pad(spec, cut, '<');
}

std::string format_double(double value, Spec spec, std::string_view type) {
    std::string digits;
    const double magnitude = std::fabs(value);
    const int precision = spec.precision < 0 ? 6 : int(std::min<int64_t>(spec.precision, 5000));
    bool percent = false;
    char conversion = char(spec.type);
    switch (spec.type) {
        case 0:
            if (spec.precision < 0) {
                digits = repr_real(magnitude);
                if (spec.alternate && digits.find('.') == digits.npos && std::isfinite(value)) digits += '.';
            } else {
                digits = format_real(magnitude, 'g', std::max(precision, 1), spec.alternate);
                if (std::isfinite(value)) {
                    // As for 'g', but with a digit after the point, which makes room for one fewer before it.
                    const std::string e = format_real(magnitude, 'e', std::max(precision, 1) - 1, false);
                    const int exponent = std::stoi(e.substr(e.find('e') + 1));
                    if (exponent >= std::max(precision, 1) - 1 && exponent < std::max(precision, 1) && exponent > 0 &&
                        digits.find('e') == digits.npos) {
                        digits = e;
                        const size_t mark = digits.find('e');
                        std::string mantissa = digits.substr(0, mark);
                        if (mantissa.find('.') != mantissa.npos) {
                            while (mantissa.back() == '0') mantissa.pop_back();
                            if (mantissa.back() == '.') mantissa.pop_back();
                        }
                        digits = mantissa + digits.substr(mark);
                    } else if (digits.find_first_of(".e") == digits.npos) {
                        digits += ".0";
                    }
                }
            }
            break;
        case 'n':
            conversion = 'g';
            [[fallthrough]];
        case 'e':
        case 'E':
        case 'f':
        case 'F':
        case 'g':
        case 'G':
            digits = format_real(magnitude, conversion, precision, spec.alternate);
            break;
        case '%':
            digits = format_real(magnitude * 100, 'f', precision, spec.alternate);
            percent = true;
            break;
        default:
            fail_code(spec, type);
    }
    bool negative = std::signbit(value) && !std::isnan(value);
    if (spec.no_negative_zero && digits.find_first_of("123456789in") == digits.npos) negative = false;
    size_t whole = 0;
    while (whole < digits.size() && digits[whole] >= '0' && digits[whole] <= '9') ++whole;
    if (whole == 0) whole = digits.size();  // inf, nan
    if (!std::isfinite(value)) spec.grouping = '\0';
    return pad_number(spec, sign_of(spec, negative), digits.substr(0, whole),
                      digits.substr(whole) + (percent ? "%" : ""));
}

std::string format_integer(const Value& value, const Spec& spec) {
    const int64_t n = value.as_int();
    if (spec.type && std::string_view("eEfFgG%").find(char(spec.type)) != std::string_view::npos && spec.type < 128)
        return format_double(double(n), spec, "int");
    if (spec.precision >= 0) raise_value_error("Precision not allowed in integer format specifier");
    if (spec.no_negative_zero)
        raise_value_error("Negative zero coercion (z) not allowed in format specifier with integer type");
    const uint64_t magnitude = n < 0 ? ~uint64_t(n) + 1 : uint64_t(n);
    std::string prefix, digits;
    switch (spec.type) {
        case 0:
        case 'd':
        case 'n':
            digits = fmt::format("{}", magnitude);
            break;
        case 'b':
            digits = fmt::format("{:b}", magnitude);
            prefix = "0b";
            break;
        case 'o':
            digits = fmt::format("{:o}", magnitude);
            prefix = "0o";
            break;
        case 'x':
            digits = fmt::format("{:x}", magnitude);
            prefix = "0x";
            break;
        case 'X':
            digits = fmt::format("{:X}", magnitude);
            prefix = "0X";
            break;
        case 'c': {
            if (spec.sign) raise_value_error("Sign not allowed with integer format specifier 'c'");
            if (spec.alternate) raise_value_error("Alternate form (#) not allowed with integer format specifier 'c'");
            if (n < 0 || n > 0x10ffff) raise("OverflowError", "%c arg not in range(0x110000)");
            Spec plain = spec;
            return pad(plain, unicode::encode(char32_t(n)), plain.align == '=' ? '>' : '<');
        }
        default:
            fail_code(spec, type_name(value));
    }
    return pad_number(spec, sign_of(spec, n < 0) + (spec.alternate ? prefix : ""), digits, "");
}

}  // namespace

std::string grouped(std::string_view digits, char separator, size_t group) {
    std::string out;
    for (size_t i = 0; i < digits.size(); ++i) {
        if (i > 0 && (digits.size() - i) % group == 0) out += separator;
        out += digits[i];
    }
    return out;
}

std::string format_real(double value, char conversion, int precision, bool alternate) {
    if (!std::isfinite(value)) {
        const bool upper = conversion >= 'A' && conversion <= 'Z';
        if (std::isnan(value)) return upper ? "NAN" : "nan";
        return std::string(value < 0 ? "-" : "") + (upper ? "INF" : "inf");
    }
    const std::string pattern = std::string("%") + (alternate ? "#" : "") + ".*" + conversion;
    const int size = std::snprintf(nullptr, 0, pattern.c_str(), precision, value);
    std::string out(size_t(size) + 1, '\0');
    std::snprintf(out.data(), out.size(), pattern.c_str(), precision, value);
    out.pop_back();
    return out;
}

std::string format_value(const Value& value, std::string_view specification) {
    if (specification.empty()) return str(value);
    const std::string_view name = value.is_markup() ? "Markup" : type_name(value);
    switch (value.type()) {
        case Type::Str:
            return format_text(value.text(), parse_spec(specification, name), name);
        case Type::Bool:
        case Type::Int:
            return format_integer(value, parse_spec(specification, name));
        case Type::Float:
            return format_double(value.as_real(), parse_spec(specification, name), "float");
        default:
            raise_type_error(fmt::format("unsupported format string passed to {}.__format__", name));
    }
}

}  // namespace minfer::chat::jinja
