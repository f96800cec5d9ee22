#include "chat/jinja/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "chat/jinja/error.h"
#include "chat/jinja/loop.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/unicode.h"

namespace minfer::chat::jinja {

namespace {

constexpr size_t kIndexFrom = 9;  // below this many entries a scan is faster than a hash table
constexpr uint64_t kMaxWeight = uint64_t(1) << 25;
constexpr size_t kBytesOfWeight = 256;  // of text that weigh as much as a value
constexpr size_t kNowhere = size_t(-1);

uint64_t weight_of(const Value& value) { return value.object() ? value.object()->weight : 1; }

}  // namespace

void Object::hold(const Value& inner) {
    weight += weight_of(inner);
    if (inner.object()) depth = std::max(depth, inner.object()->depth + 1);
    if (weight > kMaxWeight) fail_too_large("value");
    if (depth > kMaxValueDepth) fail_too_deep();
}

void fail_too_deep() { raise("RecursionError", fmt::format("values nested more than {} deep", kMaxValueDepth)); }

Str::Str(std::string t, bool safe) : text(std::move(t)), length(unicode::length(text)), markup(safe) {
    weight += text.size() / kBytesOfWeight;
}

Value Value::boolean(bool b) {
    Value v;
    v.type_ = Type::Bool;
    v.number_.i = b;
    return v;
}

Value Value::integer(int64_t i) {
    Value v;
    v.type_ = Type::Int;
    v.number_.i = i;
    return v;
}

Value Value::real(double d) {
    Value v;
    v.type_ = Type::Float;
    v.number_.d = d;
    return v;
}

Value Value::object(Type type, std::shared_ptr<Object> object) {
    Value v;
    v.type_ = type;
    v.object_ = std::move(object);
    return v;
}

Value Value::string(std::string text, bool markup) {
    return object(Type::Str, std::make_shared<Str>(std::move(text), markup));
}

Value Value::list(std::vector<Value> items) { return object(Type::List, std::make_shared<Sequence>(std::move(items))); }

Value Value::tuple(std::vector<Value> items) {
    return object(Type::Tuple, std::make_shared<Sequence>(std::move(items)));
}

const Str& Value::as_str() const { return static_cast<const Str&>(*object_); }
const std::string& Value::text() const { return as_str().text; }
const std::vector<Value>& Value::items() const { return static_cast<const Sequence&>(*object_).items; }
const Dict& Value::as_dict() const { return static_cast<const Dict&>(*object_); }
const View& Value::as_view() const { return static_cast<const View&>(*object_); }
const Range& Value::as_range() const { return static_cast<const Range&>(*object_); }
Iterator& Value::as_iterator() const { return static_cast<Iterator&>(*object_); }
const UndefinedObject& Value::as_undefined() const { return static_cast<const UndefinedObject&>(*object_); }
Namespace& Value::as_namespace() const { return static_cast<Namespace&>(*object_); }
Callable& Value::as_callable() const { return static_cast<Callable&>(*object_); }
Loop& Value::as_loop() const { return static_cast<Loop&>(*object_); }
Cycler& Value::as_cycler() const { return static_cast<Cycler&>(*object_); }
bool Value::is_markup() const { return is_str() && as_str().markup; }

Value make_dict(std::shared_ptr<Dict> dict) { return Value::object(Type::Dict, std::move(dict)); }

Value make_callable(Callable::Kind kind, std::string name, Callable::Function function) {
    return Value::object(Type::Callable, std::make_shared<Callable>(kind, std::move(name), std::move(function)));
}

Value make_iterator(std::shared_ptr<Iterator> iterator) { return Value::object(Type::Iterator, std::move(iterator)); }

Value undefined_named(std::string_view name) {
    auto u = std::make_shared<UndefinedObject>();
    u->name = Value::string(std::string(name));
    return Value::object(Type::Undefined, std::move(u));
}

Value undefined_hint(std::string hint) {
    auto u = std::make_shared<UndefinedObject>();
    u->hint = std::move(hint);
    return Value::object(Type::Undefined, std::move(u));
}

Value undefined_of(const Value& owner, const Value& name) {
    auto u = std::make_shared<UndefinedObject>();
    u->has_owner = true;
    u->owner = owner;
    u->hold(owner);
    u->name = name;
    return Value::object(Type::Undefined, std::move(u));
}

std::string UndefinedObject::message() const {
    if (!hint.empty()) return hint;
    if (!has_owner) return repr(name) + " is undefined";
    if (!name.is_str()) return fmt::format("{} has no element {}", qualified_type_name(owner), repr(name));
    return fmt::format("{} has no attribute {}", repr_text(qualified_type_name(owner)), repr(name));
}

void fail_undefined(const Value& undefined) {
    raise(undefined.as_undefined().error_type, undefined.as_undefined().message());
}

void fail_attribute(const Value& value, std::string_view name) {
    if (value.is_undefined()) fail_undefined(value);
    if (value.is(Type::Namespace)) raise("AttributeError", std::string(name));
    raise("AttributeError", fmt::format("'{}' object has no attribute '{}'", type_name(value), name));
}

const Dict& View::of() const { return static_cast<const Dict&>(*dict); }

Value View::at(size_t i) const {
    const auto& [key, value] = of().entries[i];
    switch (kind) {
        case Kind::Keys:
            return key;
        case Kind::Values:
            return value;
        default:
            return Value::tuple({key, value});
    }
}

int64_t Range::length() const {
    // Unsigned arithmetic: the distance of two 64-bit numbers may not fit a signed one.
    if (step > 0) return start < stop ? int64_t((uint64_t(stop) - uint64_t(start) - 1) / uint64_t(step) + 1) : 0;
    return start > stop ? int64_t((uint64_t(start) - uint64_t(stop) - 1) / (~uint64_t(step) + 1) + 1) : 0;
}

size_t Dict::position(const Value& key, size_t key_hash) const {
    if (index_.empty()) {
        for (size_t i = 0; i < entries.size(); ++i)
            if (equal(entries[i].first, key)) return i;
        return kNowhere;
    }
    const auto [first, last] = index_.equal_range(key_hash);
    for (auto it = first; it != last; ++it)
        if (equal(entries[it->second].first, key)) return it->second;
    return kNowhere;
}

const Value* Dict::find(const Value& key) const {
    const size_t i = position(key, hash(key));
    return i == kNowhere ? nullptr : &entries[i].second;
}

const Value* Dict::find(std::string_view key) const { return find(Value::string(std::string(key))); }

void Dict::set(const Value& key, const Value& value) {
    const size_t key_hash = hash(key);
    const size_t i = position(key, key_hash);
    hold(value);
    if (i != kNowhere) {
        weight -= weight_of(entries[i].second);
        entries[i].second = value;
        return;
    }
    hold(key);
    entries.emplace_back(key, value);
    if (!index_.empty()) {
        index_.emplace(key_hash, entries.size() - 1);
    } else if (entries.size() >= kIndexFrom) {
        for (size_t k = 0; k < entries.size(); ++k) index_.emplace(hash(entries[k].first), k);
    }
}

void Dict::set(std::string_view key, const Value& value) { set(Value::string(std::string(key)), value); }

std::string_view type_name(const Value& value) {
    switch (value.type()) {
        case Type::Undefined:
            return "Undefined";
        case Type::None:
            return "NoneType";
        case Type::Bool:
            return "bool";
        case Type::Int:
            return "int";
        case Type::Float:
            return "float";
        case Type::Str:
            return value.is_markup() ? "Markup" : "str";
        case Type::List:
            return "list";
        case Type::Tuple:
            return static_cast<const Sequence&>(*value.object()).is_group ? "_GroupTuple" : "tuple";
        case Type::Dict:
            return "dict";
        case Type::View: {
            const View::Kind kind = value.as_view().kind;
            return kind == View::Kind::Keys ? "dict_keys" : kind == View::Kind::Values ? "dict_values" : "dict_items";
        }
        case Type::Range:
            return "range";
        case Type::Iterator:
            return value.as_iterator().type_name();
        case Type::Namespace:
            return "Namespace";
        case Type::Callable:
            switch (value.as_callable().kind) {
                case Callable::Kind::Function:
                    return "function";
                case Callable::Kind::Builtin:
                    return "builtin_function_or_method";
                case Callable::Kind::Method:
                    return "method";
                case Callable::Kind::Class:
                    return "type";
                case Callable::Kind::Macro:
                    return "Macro";
                case Callable::Kind::Joiner:
                    return "Joiner";
                case Callable::Kind::BlockReference:
                    return "BlockReference";
            }
            return "function";
        case Type::Loop:
            return "LoopContext";
        case Type::Cycler:
            return "Cycler";
        case Type::TemplateReference:
            return "TemplateReference";
    }
    return "object";
}

std::string qualified_type_name(const Value& value) {
    if (value.is_none()) return "None";
    const std::string_view name = type_name(value);
    std::string_view module;
    if (name == "Markup") module = "markupsafe.";
    if (name == "_GroupTuple") module = "jinja2.filters.";
    if (name == "Namespace" || name == "Cycler" || name == "Joiner") module = "jinja2.utils.";
    if (name == "Macro" || name == "LoopContext" || name == "TemplateReference" || name == "BlockReference" ||
        name == "Undefined")
        module = "jinja2.runtime.";
    return fmt::format("{}{} object", module, name);
}

bool truth(const Value& value) {
    switch (value.type()) {
        case Type::Undefined:
        case Type::None:
            return false;
        case Type::Bool:
        case Type::Int:
            return value.as_int() != 0;
        case Type::Float:
            return value.as_real() != 0;
        case Type::Str:
            return !value.text().empty();
        case Type::List:
        case Type::Tuple:
            return !value.items().empty();
        case Type::Dict:
            return !value.as_dict().entries.empty();
        case Type::View:
            return !value.as_view().of().entries.empty();
        case Type::Range:
            return value.as_range().length() > 0;
        case Type::Loop:
            return value.as_loop().length() > 0;
        default:
            return true;
    }
}

bool identical(const Value& a, const Value& b) {
    if (a.type() != b.type()) return false;
    switch (a.type()) {
        case Type::None:
            return true;
        case Type::Bool:
        case Type::Int:
            return a.as_int() == b.as_int();
        case Type::Float:
            return a.as_real() == b.as_real();
        case Type::Str:
            return a.object() == b.object() || (a.text() == b.text() && a.is_markup() == b.is_markup());
        default:
            return a.object() == b.object();
    }
}

bool equal(const Value& a, const Value& b) {
    if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
    if (a.type() != b.type()) return false;
    switch (a.type()) {
        case Type::Undefined:
        case Type::None:
            return true;
        case Type::Str:
            return a.object() == b.object() || a.text() == b.text();
        case Type::List:
        case Type::Tuple: {
            if (a.items().size() != b.items().size()) return false;
            for (size_t i = 0; i < a.items().size(); ++i)
                if (!identical(a.items()[i], b.items()[i]) && !equal(a.items()[i], b.items()[i])) return false;
            return true;
        }
        case Type::Dict: {
            if (a.as_dict().entries.size() != b.as_dict().entries.size()) return false;
            for (const auto& [key, value] : a.as_dict().entries) {
                const Value* other = b.as_dict().find(key);
                if (!other || (!identical(value, *other) && !equal(value, *other))) return false;
            }
            return true;
        }
        case Type::View: {
            const View &x = a.as_view(), &y = b.as_view();
            if (x.kind == View::Kind::Values || x.kind != y.kind) return a.object() == b.object();
            if (x.of().entries.size() != y.of().entries.size()) return false;
            for (const auto& [key, value] : x.of().entries) {
                const Value* other = y.of().find(key);
                if (!other || (x.kind == View::Kind::Items && !equal(value, *other))) return false;
            }
            return true;
        }
        case Type::Range: {
            const Range &x = a.as_range(), &y = b.as_range();
            const int64_t n = x.length();
            if (n != y.length()) return false;
            return n == 0 || (x.start == y.start && (n == 1 || x.step == y.step));
        }
        default:
            return a.object() == b.object();
    }
}

size_t hash(const Value& value) {
    switch (value.type()) {
        case Type::Undefined:
            return 1;
        case Type::None:
            return 2;
        case Type::Bool:
        case Type::Int:
            return std::hash<int64_t>()(value.as_int());
        case Type::Float: {
            const double d = value.as_real();
            if (d == std::floor(d) && std::fabs(d) < 0x1p63) return std::hash<int64_t>()(int64_t(d));
            return std::hash<double>()(d);
        }
        case Type::Str:
            return std::hash<std::string>()(value.text());
        case Type::Tuple: {
            size_t h = 3;
            for (const Value& item : value.items()) h = h * 1000003 ^ hash(item);
            return h;
        }
        case Type::Range:
            return size_t(value.as_range().length());
        case Type::View:
            if (value.as_view().kind == View::Kind::Values) return std::hash<const void*>()(value.object().get());
            [[fallthrough]];
        case Type::List:
        case Type::Dict:
            raise_type_error(fmt::format("unhashable type: '{}'", type_name(value)));
        default:
            return std::hash<const void*>()(value.object().get());
    }
}

}  // namespace minfer::chat::jinja
