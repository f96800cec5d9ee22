#include "chat/jinja/tests.h"

#include <fmt/format.h>

#include <unordered_map>

#include "chat/jinja/arguments.h"
#include "chat/jinja/error.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/methods.h"
#include "chat/jinja/operators.h"

namespace minfer::chat::jinja {
namespace {

using Question = bool (*)(const Value& v);

// A test without arguments; `name` is of Jinja2's function.
template <Question question>
bool ask(const char* name, const Value& v, const Arguments& a) {
    bind(name, {"value"}, {}, a);
    return question(v);
}

bool remainder_is(const Value& v, int64_t divisor, int64_t rest) {
    return equal(binary(Op::Mod, v, Value::integer(divisor)), Value::integer(rest));
}

bool is_odd(const Value& v) { return remainder_is(v, 2, 1); }
bool is_even(const Value& v) { return remainder_is(v, 2, 0); }
bool is_defined(const Value& v) { return !v.is_undefined(); }
bool is_undefined(const Value& v) { return v.is_undefined(); }
bool is_none(const Value& v) { return v.is_none(); }
bool is_boolean(const Value& v) { return v.is(Type::Bool); }
bool is_false(const Value& v) { return v.is(Type::Bool) && !v.as_bool(); }
bool is_true(const Value& v) { return v.is(Type::Bool) && v.as_bool(); }
bool is_integer(const Value& v) { return v.is(Type::Int); }
bool is_float(const Value& v) { return v.is(Type::Float); }
bool is_number(const Value& v) { return v.is_number(); }
bool is_string(const Value& v) { return v.is_str(); }
bool is_mapping(const Value& v) { return v.is(Type::Dict); }
bool is_lower(const Value& v) { return is_lower_text(str(v)); }
bool is_upper(const Value& v) { return is_upper_text(str(v)); }
bool is_escaped(const Value& v) { return v.is_markup(); }

// What has a length and items by index or key. Jinja2 asks for the attribute __getitem__, which Undefined has too.
bool is_sequence(const Value& v) {
    return v.is_str() || v.is_sequence() || v.is(Type::Dict) || v.is(Type::Range) || v.is_undefined();
}

bool is_callable(Interpreter&, const Value& v, const Arguments& a) {
    forbid_keywords("callable", a);
    if (!a.positional.empty())
        raise_type_error(fmt::format("callable() takes exactly one argument ({} given)", a.positional.size() + 1));
    return v.is(Type::Callable) || v.is(Type::Loop) || v.is_undefined();
}

bool is_divisible_by(Interpreter&, const Value& v, const Arguments& a) {
    const auto given = bind("test_divisibleby", {"value"}, {{"num", {}}}, a);
    return equal(binary(Op::Mod, v, given[0]), Value::integer(0));
}

bool is_same_as(Interpreter&, const Value& v, const Arguments& a) {
    return identical(v, bind("test_sameas", {"value"}, {{"other", {}}}, a)[0]);
}

bool is_in(Interpreter&, const Value& v, const Arguments& a) {
    return contains(bind("test_in", {"value"}, {{"seq", {}}}, a)[0], v);
}

bool is_filter(Interpreter&, const Value& v, const Arguments& a) {
    bind("test_filter", {"env", "value"}, {}, a);
    hash(v);
    return v.is_str() && find_filter(v.text());
}

bool is_test(Interpreter&, const Value& v, const Arguments& a) {
    bind("test_test", {"env", "value"}, {}, a);
    hash(v);
    return v.is_str() && find_test(v.text());
}

template <Op op>
bool compares(Interpreter&, const Value& v, const Arguments& a) {
    static constexpr const char* kNames[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    const char* name = kNames[size_t(op) - size_t(Op::Eq)];
    forbid_keywords(fmt::format("_operator.{}", name), a);
    if (a.positional.size() != 1)
        raise_type_error(fmt::format("{} expected 2 arguments, got {}", name, a.positional.size() + 1));
    return compare(op, v, a.positional[0]);
}

#define MINFER_ASK(function, question) \
    [](Interpreter&, const Value& v, const Arguments& a) { return ask<question>(function, v, a); }

const std::unordered_map<std::string_view, TestFunction>& table() {
    static const std::unordered_map<std::string_view, TestFunction> tests = {
        {"odd", MINFER_ASK("test_odd", is_odd)},
        {"even", MINFER_ASK("test_even", is_even)},
        {"divisibleby", is_divisible_by},
        {"defined", MINFER_ASK("test_defined", is_defined)},
        {"undefined", MINFER_ASK("test_undefined", is_undefined)},
        {"filter", is_filter},
        {"test", is_test},
        {"none", MINFER_ASK("test_none", is_none)},
        {"boolean", MINFER_ASK("test_boolean", is_boolean)},
        {"false", MINFER_ASK("test_false", is_false)},
        {"true", MINFER_ASK("test_true", is_true)},
        {"integer", MINFER_ASK("test_integer", is_integer)},
        {"float", MINFER_ASK("test_float", is_float)},
        {"lower", MINFER_ASK("test_lower", is_lower)},
        {"upper", MINFER_ASK("test_upper", is_upper)},
        {"string", MINFER_ASK("test_string", is_string)},
        {"mapping", MINFER_ASK("test_mapping", is_mapping)},
        {"number", MINFER_ASK("test_number", is_number)},
        {"sequence", MINFER_ASK("test_sequence", is_sequence)},
        {"iterable", MINFER_ASK("test_iterable", is_iterable)},
        {"callable", is_callable},
        {"sameas", is_same_as},
        {"escaped", MINFER_ASK("test_escaped", is_escaped)},
        {"in", is_in},
        {"==", compares<Op::Eq>},
        {"eq", compares<Op::Eq>},
        {"equalto", compares<Op::Eq>},
        {"!=", compares<Op::Ne>},
        {"ne", compares<Op::Ne>},
        {">", compares<Op::Gt>},
        {"gt", compares<Op::Gt>},
        {"greaterthan", compares<Op::Gt>},
        {"ge", compares<Op::Ge>},
        {">=", compares<Op::Ge>},
        {"<", compares<Op::Lt>},
        {"lt", compares<Op::Lt>},
        {"lessthan", compares<Op::Lt>},
        {"<=", compares<Op::Le>},
        {"le", compares<Op::Le>},
    };
    return tests;
}

#undef MINFER_ASK

}  // namespace

TestFunction find_test(std::string_view name) {
    const auto found = table().find(name);
    return found == table().end() ? nullptr : found->second;
}

}  // namespace minfer::chat::jinja
