// Filters that make numbers, or text of numbers.
#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "chat/jinja/arguments.h"
#include "chat/jinja/error.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/format.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/methods.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/unicode.h"

namespace minfer::chat::jinja {
namespace {

// The digits of a number's text in ASCII, stripped, without single underscores between digits; nothing where Python
// would not read it.
std::optional<std::string> plain_number(std::string_view text) {
    std::string out;
    const std::string stripped = strip(text, Value::none(), true, true);
    char last = '\0';
    for (size_t i = 0; i < stripped.size();) {
        const char32_t c = unicode::decode(stripped, i);
        const int digit = c < 0x80 ? -1 : unicode::decimal_value(c);
        if (c >= 0x80 && digit < 0) return std::nullopt;
        const char plain = digit >= 0 ? char('0' + digit) : char(c);
        if (plain == '_') {
            const bool between = std::isalnum(static_cast<unsigned char>(last)) && i < stripped.size() &&
                                 std::isalnum(static_cast<unsigned char>(stripped[i]));
            if (!between) return std::nullopt;
        } else {
            out += plain;
        }
        last = plain;
    }
    return out.empty() ? std::nullopt : std::optional(out);
}

std::optional<int64_t> parse_int(std::string_view text, int64_t base) {
    if (base != 0 && (base < 2 || base > 36)) return std::nullopt;
    const auto plain = plain_number(text);
    if (!plain) return std::nullopt;
    std::string_view digits = *plain;
    const bool negative = digits[0] == '-';
    if (digits[0] == '-' || digits[0] == '+') digits.remove_prefix(1);
    if (digits.size() > 2 && digits[0] == '0') {
        const char prefix = char(digits[1] | 0x20);
        const int64_t prefixed = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 0;
        if (prefixed && (base == prefixed || base == 0)) {
            base = prefixed;
            digits.remove_prefix(2);
        }
    }
    if (base == 0) {
        if (digits.size() > 1 && digits[0] == '0' && digits.find_first_not_of('0') != digits.npos) return std::nullopt;
        base = 10;
    }
    if (digits.empty() || !std::isalnum(static_cast<unsigned char>(digits[0]))) return std::nullopt;
    uint64_t magnitude = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, int(base));
    if (read.ec == std::errc::invalid_argument || read.ptr != digits.data() + digits.size()) return std::nullopt;
    if (read.ec == std::errc::result_out_of_range || magnitude > uint64_t(INT64_MAX) + negative)
        raise("OverflowError", "the result does not fit the 64 bits of an integer in minfer's templates");
    return negative ? int64_t(~magnitude + 1) : int64_t(magnitude);
}

std::optional<double> parse_real(std::string_view text) {
    const auto plain = plain_number(text);
    if (!plain) return std::nullopt;
    std::string_view digits = *plain;
    if (digits[0] == '-' || digits[0] == '+') digits.remove_prefix(1);
    const std::string word = unicode::lower(digits);
    double value = 0;
    if (word == "inf" || word == "infinity") {
        value = INFINITY;
    } else if (word == "nan") {
        value = NAN;
    } else {
        if (digits.empty() || (!std::isdigit(static_cast<unsigned char>(digits[0])) && digits[0] != '.'))
            return std::nullopt;
        const std::string copy(digits);
        const auto read = std::from_chars(copy.data(), copy.data() + copy.size(), value);
        if (read.ptr != copy.data() + copy.size()) return std::nullopt;
        if (read.ec == std::errc::result_out_of_range)
            value = std::strtod(copy.c_str(), nullptr);
        else if (read.ec != std::errc())
            return std::nullopt;
    }
    return (*plain)[0] == '-' ? -value : value;
}

// float(value), or nothing where Python raises TypeError or ValueError.
std::optional<double> real_of(const Value& value) {
    if (value.is_undefined()) fail_undefined(value);
    if (value.is_number()) return to_real(value);
    return value.is_str() ? parse_real(value.text()) : std::nullopt;
}

Value int_filter(Interpreter&, const Value& v, const Arguments& a) {
    const auto given = bind("do_int", {"value"}, {{"default", Value::integer(0)}, {"base", Value::integer(10)}}, a);
    if (v.is_undefined()) fail_undefined(v);
    if (v.is_int()) return Value::integer(v.as_int());
    if (v.is(Type::Float)) return std::isnan(v.as_real()) ? given[0] : Value::integer(real_to_int(v.as_real()));
    if (!v.is_str()) return given[0];
    if (given[1].is_int())
        if (const auto n = parse_int(v.text(), given[1].as_int())) return Value::integer(*n);
    const auto d = parse_real(v.text());
    if (!d || !std::isfinite(*d)) return given[0];
    return Value::integer(real_to_int(*d));
}

Value float_filter(Interpreter&, const Value& v, const Arguments& a) {
    const auto given = bind("do_float", {"value"}, {{"default", Value::real(0)}}, a);
    const auto d = real_of(v);
    return d ? Value::real(*d) : given[0];
}

Value abs_filter(Interpreter&, const Value& v, const Arguments& a) {
    if (!a.keyword.empty()) raise_type_error("abs() takes no keyword arguments");
    if (!a.positional.empty())
        raise_type_error(fmt::format("abs() takes exactly one argument ({} given)", a.positional.size() + 1));
    if (v.is_int()) return v.as_int() < 0 ? negate(v) : Value::integer(v.as_int());
    if (v.is(Type::Float)) return Value::real(std::fabs(v.as_real()));
    raise_type_error(fmt::format("bad operand type for abs(): '{}'", type_name(v)));
}

Value round_integer(int64_t n, int64_t digits) {
    if (digits >= 0) return Value::integer(n);
    if (digits < -18) return Value::integer(0);
    int64_t unit = 1;
    for (int64_t i = 0; i < -digits; ++i) unit *= 10;
    // To the nearest multiple, an exact half to the even one.
    int64_t rest = n % unit;
    if (rest < 0) rest += unit;
    const int64_t down = checked_sub(n, rest);
    if (rest > unit - rest || (rest == unit - rest && (down / unit) % 2 != 0))
        return Value::integer(checked_add(down, unit));
    return Value::integer(down);
}

Value round_real(double d, int64_t digits) {
    if (!std::isfinite(d) || digits > 400) return Value::real(d);
    if (digits < -310) return Value::real(std::copysign(0.0, d));
    if (digits >= 0) return Value::real(std::strtod(format_real(d, 'f', int(digits), false).c_str(), nullptr));
    // Decimal digits of the exact value, rounded half to even by the C library at that place.
    const double unit = std::pow(10.0, double(-digits));
    const double scaled = d / unit;
    double whole = std::nearbyint(scaled);
    if (std::fabs(scaled - std::trunc(scaled)) == 0.5) whole = 2.0 * std::nearbyint(scaled / 2.0);
    return Value::real(whole * unit);
}

// round(value, precision)
Value rounded(const Value& v, const Value& precision) {
    if (!v.is_number()) raise_type_error(fmt::format("type {} doesn't define __round__ method", type_name(v)));
    if (precision.is_none()) {
        if (v.is_int()) return Value::integer(v.as_int());
        const double d = v.as_real();
        return Value::integer(real_to_int(std::isfinite(d) ? std::nearbyint(d) : d));
    }
    const int64_t digits = to_index(precision);
    return v.is_int() ? round_integer(v.as_int(), digits) : round_real(v.as_real(), digits);
}

Value round_filter(Interpreter&, const Value& v, const Arguments& a) {
    const auto given =
        bind("do_round", {"value"}, {{"precision", Value::integer(0)}, {"method", Value::string("common")}}, a);
    const std::string method = given[1].is_str() ? given[1].text() : "";
    if (given[1].is(Type::List) || given[1].is(Type::Dict)) hash(given[1]);
    if (method != "common" && method != "ceil" && method != "floor")
        raise("FilterArgumentError", "method must be common, ceil or floor");
    if (method == "common") return rounded(v, given[0]);
    const Value scale = binary(Op::Pow, Value::integer(10), given[0]);
    const Value scaled = binary(Op::Mul, v, scale);
    if (!scaled.is_number()) raise_type_error(fmt::format("must be real number, not {}", type_name(scaled)));
    Value whole = scaled;
    if (scaled.is(Type::Float)) {
        const double d = scaled.as_real();
        whole = Value::integer(real_to_int(std::isfinite(d) ? (method == "ceil" ? std::ceil(d) : std::floor(d)) : d));
    }
    return binary(Op::Div, whole, scale);
}

Value file_size_format(Interpreter&, const Value& v, const Arguments& a) {
    const auto given = bind("do_filesizeformat", {"value"}, {{"binary", Value::boolean(false)}}, a);
    const auto bytes = real_of(v);
    if (!bytes) {
        if (v.is_str()) raise_value_error(fmt::format("could not convert string to float: {}", repr(v)));
        raise_type_error(fmt::format("float() argument must be a string or a real number, not '{}'", type_name(v)));
    }
    const bool is_binary = truth(given[0]);
    const double base = is_binary ? 1024 : 1000;
    if (*bytes == 1) return Value::string("1 Byte");
    if (*bytes < base) return Value::string(fmt::format("{} Bytes", real_to_int(*bytes)));
    constexpr std::string_view kBinary[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"};
    constexpr std::string_view kDecimal[] = {"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"};
    double unit = base;
    for (size_t i = 0;; ++i) {
        unit *= base;
        if (*bytes < unit || i == 7 || std::isnan(*bytes)) {
            if (std::isnan(*bytes)) i = 7;
            return Value::string(fmt::format("{} {}", format_real(base * *bytes / unit, 'f', 1, false),
                                             (is_binary ? kBinary : kDecimal)[i]));
        }
    }
}

}  // namespace

const std::vector<NamedFilter> kNumberFilters = {
    {"int", int_filter},
    {"float", float_filter},
    {"abs", abs_filter},
    {"round", round_filter},
    {"filesizeformat", file_size_format},
};

}  // namespace minfer::chat::jinja
