// Arithmetic, comparison and membership, with the errors that CPython 3.11 raises.
#include "chat/jinja/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "chat/jinja/error.h"
#include "chat/jinja/search.h"

namespace minfer::chat::jinja {
namespace {

std::string_view symbol(Op op) {
    switch (op) {
        case Op::Add:
            return "+";
        case Op::Sub:
            return "-";
        case Op::Mul:
            return "*";
        case Op::Div:
            return "/";
        case Op::FloorDiv:
            return "//";
        case Op::Mod:
            return "%";
        case Op::Pow:
            return "** or pow()";
        case Op::Eq:
            return "==";
        case Op::Ne:
            return "!=";
        case Op::Lt:
            return "<";
        case Op::Le:
            return "<=";
        case Op::Gt:
            return ">";
        case Op::Ge:
            return ">=";
        case Op::In:
            return "in";
        case Op::NotIn:
            return "not in";
    }
    return "";
}

[[noreturn]] void fail_operands(Op op, const Value& a, const Value& b) {
    raise_type_error(
        fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", symbol(op), type_name(a), type_name(b)));
}

[[noreturn]] void fail_overflow() {
    raise("OverflowError", "the result does not fit the 64 bits of an integer in minfer's templates");
}

Value power(const Value& a, const Value& b) {
    if (a.is_int() && b.is_int() && b.as_int() >= 0) {
        int64_t base = a.as_int(), result = 1;
        for (int64_t e = b.as_int(); e > 0; e >>= 1) {
            if (e & 1) result = checked_mul(result, base);
            if (e > 1) {
                if (base == 0 || base == 1) break;  // no further bit changes the result
                base = checked_mul(base, base);
            }
        }
        if (b.as_int() > 0 && (a.as_int() == 0 || a.as_int() == 1)) result = a.as_int();
        return Value::integer(result);
    }
    const double x = to_real(a), y = to_real(b);
    if (x == 0 && y < 0) raise("ZeroDivisionError", "0.0 cannot be raised to a negative power");
    if (x < 0 && std::isfinite(x) && std::isfinite(y) && y != std::floor(y))
        raise_type_error("minfer's templates have no complex numbers, which a power of a negative number needs");
    const double result = std::pow(x, y);
    if (std::isinf(result) && std::isfinite(x) && std::isfinite(y))
        raise("OverflowError", "(34, 'Numerical result out of range')");
    return Value::real(result);
}

double floor_mod(double x, double y, double& quotient) {
    double mod = std::fmod(x, y);
    double div = (x - mod) / y;
    if (mod != 0) {
        if ((y < 0) != (mod < 0)) {
            mod += y;
            div -= 1;
        }
    } else {
        mod = std::copysign(0.0, y);
    }
    if (div != 0) {
        quotient = std::floor(div);
        if (div - quotient > 0.5) quotient += 1;
    } else {
        quotient = std::copysign(0.0, x / y);
    }
    return mod;
}

Value divide_integers(Op op, int64_t x, int64_t y) {
    if (y == 0) {
        raise("ZeroDivisionError", op == Op::Div        ? "division by zero"
                                   : op == Op::FloorDiv ? "integer division or modulo by zero"
                                                        : "integer modulo by zero");
    }
    if (op == Op::Div) {
        constexpr int64_t kExact = int64_t(1) << 53;
        if (x > -kExact && x < kExact && y > -kExact && y < kExact) return Value::real(double(x) / double(y));
        return Value::real(double(static_cast<long double>(x) / static_cast<long double>(y)));
    }
    if (y == -1) return Value::integer(op == Op::Mod ? 0 : checked_sub(0, x));
    int64_t quotient = x / y, rest = x % y;
    if (rest != 0 && (rest < 0) != (y < 0)) {
        --quotient;
        rest += y;
    }
    return Value::integer(op == Op::Mod ? rest : quotient);
}

Value arithmetic(Op op, const Value& a, const Value& b) {
    if (op == Op::Pow) return power(a, b);
    if (a.is_int() && b.is_int()) {
        switch (op) {
            case Op::Add:
                return Value::integer(checked_add(a.as_int(), b.as_int()));
            case Op::Sub:
                return Value::integer(checked_sub(a.as_int(), b.as_int()));
            case Op::Mul:
                return Value::integer(checked_mul(a.as_int(), b.as_int()));
            default:
                return divide_integers(op, a.as_int(), b.as_int());
        }
    }
    const double x = to_real(a), y = to_real(b);
    switch (op) {
        case Op::Add:
            return Value::real(x + y);
        case Op::Sub:
            return Value::real(x - y);
        case Op::Mul:
            return Value::real(x * y);
        case Op::Div:
            if (y == 0) raise("ZeroDivisionError", "float division by zero");
            return Value::real(x / y);
        default: {
            if (y == 0) raise("ZeroDivisionError", op == Op::Mod ? "float modulo" : "float floor division by zero");
            double quotient = 0;
            const double mod = floor_mod(x, y, quotient);
            return Value::real(op == Op::Mod ? mod : quotient);
        }
    }
}

Value repeat(const Value& sequence, const Value& times) {
    if (!times.is_int())
        raise_type_error(fmt::format("can't multiply sequence by non-int of type '{}'", type_name(times)));
    const auto n = size_t(std::max<int64_t>(times.as_int(), 0));
    if (sequence.is_str()) {
        const std::string& text = sequence.text();
        if (!text.empty() && n > kMaxBytes / text.size()) fail_too_large("text");
        std::string out;
        out.reserve(text.size() * n);
        for (size_t i = 0; i < n && !text.empty(); ++i) out += text;
        return Value::string(std::move(out), sequence.is_markup());
    }
    const std::vector<Value>& items = sequence.items();
    if (!items.empty() && n > kMaxItems / items.size()) fail_too_large("list");
    std::vector<Value> out;
    out.reserve(items.size() * n);
    for (size_t i = 0; i < n && !items.empty(); ++i) out.insert(out.end(), items.begin(), items.end());
    return sequence.is(Type::List) ? Value::list(std::move(out)) : Value::tuple(std::move(out));
}

Value concatenate(const Value& a, const Value& b) {
    if (a.type() != b.type()) {
        const std::string_view name = a.is_str() ? "str" : a.is(Type::List) ? "list" : "tuple";
        raise_type_error(fmt::format("can only concatenate {} (not \"{}\") to {}", name, type_name(b), name));
    }
    if (a.is_str()) {
        if (a.text().size() + b.text().size() > kMaxBytes) fail_too_large("text");
        if (a.is_markup() || b.is_markup()) return Value::string(escape(a).text() + escape(b).text(), true);
        return Value::string(a.text() + b.text());
    }
    if (a.items().size() + b.items().size() > kMaxItems) fail_too_large("list");
    std::vector<Value> out = a.items();
    out.insert(out.end(), b.items().begin(), b.items().end());
    return a.is(Type::List) ? Value::list(std::move(out)) : Value::tuple(std::move(out));
}

bool ordered(Op op, int sign) {
    if (sign == 2) return false;
    switch (op) {
        case Op::Lt:
            return sign < 0;
        case Op::Le:
            return sign <= 0;
        case Op::Gt:
            return sign > 0;
        default:
            return sign >= 0;
    }
}

template <typename T>
bool compare_sizes(Op op, const T& a, const T& b) {
    return ordered(op, a < b ? -1 : a > b ? 1 : 0);
}

// Code points in order are bytes of UTF-8 in order.
bool order(Op op, const Value& a, const Value& b) {
    if (a.is_number() && b.is_number()) return ordered(op, compare_numbers(a, b));
    if (a.is_undefined()) fail_undefined(a);
    if (b.is_undefined()) fail_undefined(b);
    if (a.is_str() && b.is_str()) return ordered(op, a.text().compare(b.text()) < 0 ? -1 : a.text() != b.text());
    if (a.is_sequence() && a.type() == b.type()) {
        const auto &x = a.items(), &y = b.items();
        for (size_t i = 0; i < std::min(x.size(), y.size()); ++i)
            if (!identical(x[i], y[i]) && !equal(x[i], y[i])) return order(op, x[i], y[i]);
        return compare_sizes(op, x.size(), y.size());
    }
    raise_type_error(
        fmt::format("'{}' not supported between instances of '{}' and '{}'", symbol(op), type_name(a), type_name(b)));
}

}  // namespace

void fail_too_large(const char* what) {
    raise("OutputLimit",
          fmt::format("the template makes a {} that is larger than minfer allows ({} MiB of text, {} items)", what,
                      kMaxBytes >> 20, kMaxItems));
}

int64_t checked_add(int64_t a, int64_t b) {
    int64_t result = 0;
    if (__builtin_add_overflow(a, b, &result)) fail_overflow();
    return result;
}

int64_t checked_sub(int64_t a, int64_t b) {
    int64_t result = 0;
    if (__builtin_sub_overflow(a, b, &result)) fail_overflow();
    return result;
}

int64_t checked_mul(int64_t a, int64_t b) {
    int64_t result = 0;
    if (__builtin_mul_overflow(a, b, &result)) fail_overflow();
    return result;
}

double to_real(const Value& number) { return number.is(Type::Float) ? number.as_real() : double(number.as_int()); }

int64_t real_to_int(double value) {
    if (std::isnan(value)) raise_value_error("cannot convert float NaN to integer");
    if (std::isinf(value)) raise("OverflowError", "cannot convert float infinity to integer");
    if (std::fabs(value) >= 0x1p63) fail_overflow();
    return int64_t(value);
}

int64_t to_index(const Value& value) {
    if (!value.is_int())
        raise_type_error(fmt::format("'{}' object cannot be interpreted as an integer", type_name(value)));
    return value.as_int();
}

int compare_numbers(const Value& a, const Value& b) {
    if (a.is_int() && b.is_int()) return a.as_int() < b.as_int() ? -1 : a.as_int() > b.as_int();
    if (a.is_int()) {
        const int sign = compare_numbers(b, a);
        return sign == 2 ? 2 : -sign;
    }
    const double x = a.as_real();
    if (!b.is_int()) {
        const double y = b.as_real();
        if (std::isnan(x) || std::isnan(y)) return 2;
        return x < y ? -1 : x > y;
    }
    // A float against an int: by the float's whole part, which is exact as an int, then by its fraction.
    if (std::isnan(x)) return 2;
    if (x >= 0x1p63) return 1;
    if (x < -0x1p63) return -1;
    const double whole = std::floor(x);
    const auto i = int64_t(whole);
    if (i != b.as_int()) return i < b.as_int() ? -1 : 1;
    return x > whole ? 1 : 0;
}

Value binary(Op op, const Value& a, const Value& b) {
    if (a.is_number() && b.is_number()) return arithmetic(op, a, b);
    if (op == Op::Mod && a.is_str())
        return Value::string(percent_format(a, b), a.is_markup());  // before the check: Undefined formats as ''
    if (op == Op::Mul && (a.is_markup() || b.is_markup())) {        // Markup has a method for it, from either side
        if (a.is_undefined()) fail_undefined(a);                    // the left side is asked first
        const Value& times = b.is_markup() ? a : b;
        to_index(times);
        return repeat(b.is_markup() ? b : a, times);
    }
    if (a.is_undefined()) fail_undefined(a);
    if (b.is_undefined()) fail_undefined(b);
    const bool a_repeats = a.is_str() || a.is_sequence(), b_repeats = b.is_str() || b.is_sequence();
    if (op == Op::Add && a.is_markup() && !b.is_str()) fail_operands(op, a, b);
    if (op == Op::Add && a_repeats) return concatenate(a, b);
    if (op == Op::Mul && a_repeats) return repeat(a, b);
    if (op == Op::Mul && b_repeats) return repeat(b, a);
    fail_operands(op, a, b);
}

Value negate(const Value& a) {
    if (a.is_undefined()) fail_undefined(a);
    if (a.is_int()) return Value::integer(checked_sub(0, a.as_int()));
    if (a.is(Type::Float)) return Value::real(-a.as_real());
    raise_type_error(fmt::format("bad operand type for unary -: '{}'", type_name(a)));
}

Value plus(const Value& a) {
    if (a.is_undefined()) fail_undefined(a);
    if (a.is_int()) return Value::integer(a.as_int());
    if (a.is(Type::Float)) return a;
    raise_type_error(fmt::format("bad operand type for unary +: '{}'", type_name(a)));
}

bool compare(Op op, const Value& a, const Value& b) {
    switch (op) {
        case Op::Eq:
            return equal(a, b);
        case Op::Ne:
            return !equal(a, b);
        case Op::In:
            return contains(b, a);
        case Op::NotIn:
            return !contains(b, a);
        default:
            return order(op, a, b);
    }
}

bool contains(const Value& container, const Value& item) {
    switch (container.type()) {
        case Type::Str:
            if (!item.is_str())
                raise_type_error(fmt::format("'in <string>' requires string as left operand, not {}", type_name(item)));
            return Searcher(item.text()).find(container.text()) != std::string::npos;
        case Type::Dict:
            return container.as_dict().find(item) != nullptr;
        case Type::View: {
            const View& view = container.as_view();
            if (view.kind == View::Kind::Keys) return view.of().find(item) != nullptr;
            if (view.kind == View::Kind::Items) {
                if (!item.is(Type::Tuple) || item.items().size() != 2) return false;
                const Value* value = view.of().find(item.items()[0]);
                return value && equal(*value, item.items()[1]);
            }
            break;
        }
        case Type::Range:
            if (item.is_int()) {
                const Range& r = container.as_range();
                const int64_t n = item.as_int();
                if (r.length() == 0) return false;
                const int64_t last = r.at(r.length() - 1);
                if (n < std::min(r.start, last) || n > std::max(r.start, last)) return false;
                // Unsigned arithmetic: the distance of two 64-bit numbers may not fit a signed one.
                const bool up = r.step > 0;
                const uint64_t distance = up ? uint64_t(n) - uint64_t(r.start) : uint64_t(r.start) - uint64_t(n);
                return distance % (up ? uint64_t(r.step) : ~uint64_t(r.step) + 1) == 0;
            }
            break;
        default:
            break;
    }
    if (!is_iterable(container))
        raise_type_error(fmt::format("argument of type '{}' is not iterable", type_name(container)));
    const Value iterator = iterate(container);
    for (Value each; iterator.as_iterator().next(each);)
        if (identical(each, item) || equal(each, item)) return true;
    return false;
}

std::string escape_html(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (const char c : text) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '\'':
                out += "&#39;";
                break;
            case '"':
                out += "&#34;";
                break;
            default:
                out += c;
        }
    }
    return out;
}

Value escape(const Value& value) {
    if (value.is_markup()) return value;
    return Value::string(escape_html(str(value)), true);
}

}  // namespace minfer::chat::jinja
