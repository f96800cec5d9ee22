// Methods and attributes of the types other than str.
#include "chat/jinja/methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "chat/jinja/arguments.h"
#include "chat/jinja/error.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/operators.h"

namespace minfer::chat::jinja {
namespace {

Value view(const char* name, const Value& self, const Arguments& a, View::Kind kind) {
    expect_none(name, a);
    return Value::object(Type::View, std::make_shared<View>(self.object(), kind));
}

Value dict_get(Interpreter&, const Value& self, const Arguments& a) {
    expect_between("dict.get", 1, 2, a);
    const Value* found = self.as_dict().find(a.positional[0]);
    return found ? *found : a.positional.size() > 1 ? a.positional[1] : Value::none();
}

Value copy(Interpreter&, const Value& self, const Arguments& a) {
    expect_none(self.is(Type::Dict) ? "dict.copy" : "list.copy", a);
    if (self.is(Type::List)) return Value::list(self.items());
    const auto dict = std::make_shared<Dict>();
    for (const auto& [key, value] : self.as_dict().entries) dict->set(key, value);
    return make_dict(dict);
}

Value from_keys(Interpreter&, const Value&, const Arguments& a) {
    expect_between("dict.fromkeys", 1, 2, a);
    const auto dict = std::make_shared<Dict>();
    for (const Value& key : to_vector(a.positional[0]))
        dict->set(key, a.positional.size() > 1 ? a.positional[1] : Value::none());
    return make_dict(dict);
}

Value count(Interpreter&, const Value& self, const Arguments& a) {
    const Value& wanted = expect_one(fmt::format("{}.count", type_name(self)), a);
    int64_t n = 0;
    for (const Value& each : to_vector(self)) n += identical(each, wanted) || equal(each, wanted);
    return Value::integer(n);
}

Value index(Interpreter&, const Value& self, const Arguments& a) {
    const std::string name(type_name(self));
    expect_between(name + ".index", 1, self.is(Type::Range) ? 1 : 3, a);
    const std::vector<Value> items = to_vector(self);
    const auto n = int64_t(items.size());
    const auto bound = [&](size_t i, int64_t otherwise) {
        if (a.positional.size() <= i) return otherwise;
        int64_t at = 0;
        if (!a.positional[i].is_int()) raise_type_error("slice indices must be integers or have an __index__ method");
        at = a.positional[i].as_int();
        return at < 0 ? std::max<int64_t>(at + n, 0) : at;
    };
    const int64_t from = bound(1, 0), to = std::min(bound(2, n), n);
    for (int64_t i = from; i < to; ++i)
        if (identical(items[size_t(i)], a.positional[0]) || equal(items[size_t(i)], a.positional[0]))
            return Value::integer(i);
    if (self.is(Type::Tuple)) raise_value_error("tuple.index(x): x not in tuple");
    if (self.is(Type::Range) && !a.positional[0].is_int()) raise_value_error("sequence.index(x): x not in sequence");
    raise_value_error(fmt::format("{} is not in {}", repr(a.positional[0]), self.is(Type::List) ? "list" : "range"));
}

Value bit_length(Interpreter&, const Value& self, const Arguments& a) {
    expect_none(fmt::format("{}.bit_length", type_name(self)), a);
    const int64_t n = self.as_int();
    uint64_t magnitude = n < 0 ? ~uint64_t(n) + 1 : uint64_t(n);
    int64_t bits = 0;
    for (; magnitude; magnitude >>= 1) ++bits;
    return Value::integer(bits);
}

Value bit_count(Interpreter&, const Value& self, const Arguments& a) {
    expect_none(fmt::format("{}.bit_count", type_name(self)), a);
    const int64_t n = self.as_int();
    return Value::integer(__builtin_popcountll(n < 0 ? ~uint64_t(n) + 1 : uint64_t(n)));
}

Value conjugate(Interpreter&, const Value& self, const Arguments& a) {
    expect_none("conjugate", a);
    return self.is_int() ? Value::integer(self.as_int()) : self;
}

Value is_integer(Interpreter&, const Value& self, const Arguments& a) {
    expect_none("float.is_integer", a);
    return Value::boolean(std::isfinite(self.as_real()) && self.as_real() == std::floor(self.as_real()));
}

Value as_integer_ratio(Interpreter&, const Value& self, const Arguments& a) {
    expect_none(fmt::format("{}.as_integer_ratio", type_name(self)), a);
    if (self.is_int()) return Value::tuple({Value::integer(self.as_int()), Value::integer(1)});
    double d = self.as_real();
    if (std::isinf(d)) raise("OverflowError", "cannot convert Infinity to integer ratio");
    if (std::isnan(d)) raise_value_error("cannot convert NaN to integer ratio");
    int64_t denominator = 1;
    while (d != std::floor(d)) {
        d *= 2;
        denominator = checked_mul(denominator, 2);
    }
    return Value::tuple({Value::integer(real_to_int(d)), Value::integer(denominator)});
}

Value no_bytes(Interpreter&, const Value&, const Arguments&) { raise_type_error("minfer's templates have no bytes"); }

Value is_disjoint(Interpreter&, const Value& self, const Arguments& a) {
    const Value& other = expect_one("isdisjoint", a);
    for (const Value& each : to_vector(other))
        if (contains(self, each)) return Value::boolean(false);
    return Value::boolean(true);
}

Value refuse_change(Interpreter&, const Value&, const Arguments&) {
    raise("SecurityError", "a template cannot change a value");  // the sandbox gives no way to reach this
}

Value cycler_next(Interpreter&, const Value& self, const Arguments&) {
    Cycler& cycler = self.as_cycler();
    Value value = cycler.items[cycler.position];
    cycler.position = (cycler.position + 1) % cycler.items.size();
    return value;
}

Value cycler_reset(Interpreter&, const Value& self, const Arguments&) {
    self.as_cycler().position = 0;
    return Value::none();
}

constexpr NamedMethod kDictMethods[] = {
    {"keys",
     [](Interpreter&, const Value& s, const Arguments& a) { return view("dict.keys", s, a, View::Kind::Keys); }},
    {"values",
     [](Interpreter&, const Value& s, const Arguments& a) { return view("dict.values", s, a, View::Kind::Values); }},
    {"items",
     [](Interpreter&, const Value& s, const Arguments& a) { return view("dict.items", s, a, View::Kind::Items); }},
    {"get", dict_get},
    {"copy", copy},
    {"fromkeys", from_keys},
    {"clear", refuse_change},
    {"pop", refuse_change},
    {"popitem", refuse_change},
    {"setdefault", refuse_change},
    {"update", refuse_change},
};
constexpr NamedMethod kListMethods[] = {
    {"count", count},           {"index", index},          {"copy", copy},
    {"append", refuse_change},  {"clear", refuse_change},  {"pop", refuse_change},
    {"reverse", refuse_change}, {"insert", refuse_change}, {"sort", refuse_change},
    {"extend", refuse_change},  {"remove", refuse_change},
};
constexpr NamedMethod kTupleMethods[] = {{"count", count}, {"index", index}};
constexpr NamedMethod kIntMethods[] = {
    {"bit_length", bit_length},
    {"bit_count", bit_count},
    {"conjugate", conjugate},
    {"to_bytes", no_bytes},
    {"as_integer_ratio", as_integer_ratio},
    {"from_bytes", no_bytes},
};
constexpr NamedMethod kFloatMethods[] = {
    {"is_integer", is_integer},
    {"conjugate", conjugate},
    {"as_integer_ratio", as_integer_ratio},
};
constexpr NamedMethod kViewMethods[] = {{"isdisjoint", is_disjoint}};
constexpr NamedMethod kCyclerMethods[] = {{"next", cycler_next}, {"reset", cycler_reset}};

template <size_t N>
Method among(const NamedMethod (&methods)[N], std::string_view name) {
    const auto found = std::ranges::find(methods, name, &NamedMethod::name);
    return found == std::end(methods) ? nullptr : found->method;
}

// Names with two underscores that Python's types have. They exist, so that a template learns they are unsafe, not that
// they are missing.
bool has_dunder(const Value& object, std::string_view name) {
    static const std::set<std::string_view> kEvery = {
        "__class__", "__delattr__",      "__dir__",    "__doc__",  "__eq__",           "__format__",
        "__ge__",    "__getattribute__", "__gt__",     "__hash__", "__init__",         "__init_subclass__",
        "__le__",    "__lt__",           "__ne__",     "__new__",  "__reduce__",       "__reduce_ex__",
        "__repr__",  "__setattr__",      "__sizeof__", "__str__",  "__subclasshook__", "__getstate__"};
    static const std::set<std::string_view> kSized = {"__len__", "__contains__", "__iter__", "__getitem__"};
    static const std::set<std::string_view> kFunction = {"__call__", "__name__",   "__qualname__",
                                                         "__self__", "__module__", "__text_signature__"};
    static const std::set<std::string_view> kPython = {"__globals__",    "__code__",        "__defaults__",
                                                       "__closure__",    "__dict__",        "__get__",
                                                       "__kwdefaults__", "__annotations__", "__builtins__"};
    static const std::set<std::string_view> kNumber = {"__add__",   "__sub__", "__mul__",    "__mod__",
                                                       "__neg__",   "__abs__", "__bool__",   "__int__",
                                                       "__float__", "__pow__", "__truediv__"};
    static const std::set<std::string_view> kUndefined = {"__call__", "__slots__", "__module__", "__aiter__"};
    if (object.is(Type::Namespace)) return name == "__class__";
    if (kEvery.contains(name)) return true;
    switch (object.type()) {
        case Type::Str:
        case Type::List:
        case Type::Tuple:
        case Type::Dict:
        case Type::Range:
            return kSized.contains(name) || (object.is_str() && name == "__add__");
        case Type::Undefined:
            return kUndefined.contains(name) || kSized.contains(name) || (kNumber.contains(name) && name != "__abs__");
        case Type::Bool:
        case Type::Int:
        case Type::Float:
            return kNumber.contains(name);
        case Type::Callable: {
            const Callable::Kind kind = object.as_callable().kind;
            return kFunction.contains(name) ||
                   ((kind == Callable::Kind::Function || kind == Callable::Kind::Macro) && kPython.contains(name));
        }
        default:
            return false;
    }
}

Value bound(const Value& self, std::string_view name, Method method) {
    const auto call = [self, method](Interpreter& i, const Arguments& a) {
        if (self.is_str() || self.is_sequence() || self.is(Type::Range)) i.spend_on(self);  // a dict's look up
        i.spend_on(a);
        return method(i, self, a);
    };
    auto callable = std::make_shared<Callable>(Callable::Kind::Builtin, std::string(name), call);
    callable->owner = type_name(self);
    callable->hold(self);
    return Value::object(Type::Callable, std::move(callable));
}

std::optional<Value> macro_attribute(const MacroPlan& plan, std::string_view name) {
    if (name == "name") return plan.name.empty() ? Value::none() : Value::string(plan.name);
    if (name == "catch_kwargs") return Value::boolean(plan.takes_kwargs);
    if (name == "catch_varargs") return Value::boolean(plan.takes_varargs);
    if (name == "caller") return Value::boolean(plan.takes_caller);
    const bool explicit_caller = std::ranges::count(plan.parameters, "caller", &Parameter::name) > 0;
    if (name == "explicit_caller") return Value::boolean(explicit_caller);
    if (name == "arguments") {
        std::vector<Value> names;
        for (const Parameter& each : plan.parameters) names.push_back(Value::string(each.name));
        return Value::tuple(std::move(names));
    }
    return std::nullopt;
}

std::optional<Value> data_attribute(const Value& object, std::string_view name) {
    switch (object.type()) {
        case Type::Bool:
        case Type::Int:
            if (name == "real" || name == "numerator") return Value::integer(object.as_int());
            if (name == "imag") return Value::integer(0);
            if (name == "denominator") return Value::integer(1);
            break;
        case Type::Float:
            if (name == "real") return object;
            if (name == "imag") return Value::real(0);
            break;
        case Type::Range:
            if (name == "start") return Value::integer(object.as_range().start);
            if (name == "stop") return Value::integer(object.as_range().stop);
            if (name == "step") return Value::integer(object.as_range().step);
            break;
        case Type::Tuple:
            if (static_cast<const Sequence&>(*object.object()).is_group) {
                if (name == "grouper") return object.items()[0];
                if (name == "list") return object.items()[1];
            }
            break;
        case Type::View:
            if (name == "mapping") return Value::object(Type::Dict, object.as_view().dict);
            break;
        case Type::Namespace: {
            const Value* found = object.as_namespace().attributes.find(name);
            return found ? std::optional(*found) : std::nullopt;
        }
        case Type::Cycler:
            if (name == "current") return object.as_cycler().items[object.as_cycler().position];
            if (name == "items") return Value::tuple(object.as_cycler().items);
            if (name == "pos") return Value::integer(int64_t(object.as_cycler().position));
            break;
        case Type::Callable:
            if (const auto* macro = dynamic_cast<const MacroObject*>(&object.as_callable()))
                return macro_attribute(*macro->plan, name);
            if (object.as_callable().kind == Callable::Kind::Class && object.as_callable().name == "dict" &&
                name == "fromkeys")
                return bound(object, name, from_keys);
            break;
        default:
            break;
    }
    return std::nullopt;
}

}  // namespace

Method find_method(const Value& self, std::string_view name) {
    switch (self.type()) {
        case Type::Str:
            return find_text_method(name);
        case Type::Dict:
            return among(kDictMethods, name);
        case Type::List:
            return among(kListMethods, name);
        case Type::Tuple:
        case Type::Range:
            return among(kTupleMethods, name);
        case Type::Bool:
        case Type::Int:
            return among(kIntMethods, name);
        case Type::Float:
            return among(kFloatMethods, name);
        case Type::View:
            return self.as_view().kind == View::Kind::Values ? nullptr : among(kViewMethods, name);
        case Type::Cycler:
            return among(kCyclerMethods, name);
        default:
            return nullptr;
    }
}

std::optional<Value> find_attribute(const Value& object, const std::string& name) {
    if (const Method method = find_method(object, name)) return bound(object, name, method);
    if (auto value = data_attribute(object, name)) return value;
    if (name.starts_with("__") && has_dunder(object, name)) return Value::none();
    return std::nullopt;
}

bool is_safe_attribute(const Value& object, std::string_view name) {
    if (name.starts_with("_")) return false;
    if (object.is(Type::Dict) || object.is(Type::List)) return find_method(object, name) != refuse_change;
    return true;
}

}  // namespace minfer::chat::jinja
