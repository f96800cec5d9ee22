// The values of a template: Python's, as far as a chat template can make them. A Value is small and copied freely;
// strings, lists and dicts are shared and, as in Jinja2's immutable sandbox, never change once made.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace minfer::chat::jinja {

class Interpreter;
struct Object;
struct Str;
struct Sequence;
struct Dict;
struct View;
struct Range;
struct Iterator;
struct UndefinedObject;
struct Namespace;
struct Callable;
struct Loop;
struct Cycler;

enum class Type : uint8_t {
    Undefined,
    None,
    Bool,
    Int,  // 64 bits; arithmetic that leaves them is an OverflowError
    Float,
    Str,
    List,
    Tuple,
    Dict,
    View,  // of a dict: its keys, values or items
    Range,
    Iterator,  // a generator of a filter, or reversed()
    Namespace,
    Callable,  // functions, methods, macros, classes
    Loop,
    Cycler,
    TemplateReference,  // `self`
};

class Value {
  public:
    Value() = default;  // None
    static Value none() { return {}; }
    static Value boolean(bool b);
    static Value integer(int64_t i);
    static Value real(double d);
    static Value string(std::string text, bool markup = false);
    static Value list(std::vector<Value> items);
    static Value tuple(std::vector<Value> items);
    static Value object(Type type, std::shared_ptr<Object> object);

    Type type() const { return type_; }
    bool is(Type type) const { return type_ == type; }
    bool is_undefined() const { return type_ == Type::Undefined; }
    bool is_none() const { return type_ == Type::None; }
    bool is_str() const { return type_ == Type::Str; }
    bool is_int() const { return type_ == Type::Int || type_ == Type::Bool; }  // isinstance(value, int)
    bool is_number() const { return is_int() || type_ == Type::Float; }
    bool is_sequence() const { return type_ == Type::List || type_ == Type::Tuple; }

    // Each asks for the type that its name says.
    bool as_bool() const { return number_.i != 0; }
    int64_t as_int() const { return number_.i; }  // of a bool too
    double as_real() const { return number_.d; }
    const Str& as_str() const;
    const std::string& text() const;  // of a str
    const std::vector<Value>& items() const;
    const Dict& as_dict() const;
    const View& as_view() const;
    const Range& as_range() const;
    Iterator& as_iterator() const;
    const UndefinedObject& as_undefined() const;
    Namespace& as_namespace() const;
    Callable& as_callable() const;
    Loop& as_loop() const;
    Cycler& as_cycler() const;
    const std::shared_ptr<Object>& object() const { return object_; }
    bool is_markup() const;

  private:
    union {
        int64_t i;
        double d;
    } number_ = {0};
    std::shared_ptr<Object> object_;
    Type type_ = Type::None;
};

inline constexpr uint32_t kMaxValueDepth = 300;  // of values within each other
[[noreturn]] void fail_too_deep();

struct Object {
    virtual ~Object() = default;

    // Of the values within, this one included; a long text counts for many. Bounded when a value is made, so that
    // whatever walks over it ends and does not overflow the stack, however a hostile template shares and nests.
    uint64_t weight = 1;
    uint32_t depth = 1;
    void hold(const Value& inner);  // counts a value that this one holds; RecursionError, OutputLimit

  protected:
    Object() = default;
    Object(const Object&) = default;
    Object& operator=(const Object&) = default;
};

struct Str : Object {
    Str(std::string t, bool safe);
    std::string text;  // UTF-8
    size_t length;     // in code points
    bool markup;       // a Markup of markupsafe: already escaped
    bool ascii() const { return length == text.size(); }
};

struct Sequence : Object {
    explicit Sequence(std::vector<Value> i) : items(std::move(i)) {
        for (const Value& each : items) hold(each);
    }
    std::vector<Value> items;
    bool is_group = false;  // a tuple of the groupby filter, whose fields are named grouper and list
};

// Insertion order and Python's equality of keys: 1, 1.0 and True are one key.
struct Dict : Object {
    std::vector<std::pair<Value, Value>> entries;

    const Value* find(const Value& key) const;  // TypeError for a key that cannot be hashed
    const Value* find(std::string_view key) const;
    void set(const Value& key, const Value& value);  // while the dict is being made, and by namespaces
    void set(std::string_view key, const Value& value);

  private:
    size_t position(const Value& key, size_t hash) const;
    std::unordered_multimap<size_t, size_t> index_;  // hash to place in entries, kept once there are many
};

struct View : Object {
    enum class Kind { Keys, Values, Items };
    View(std::shared_ptr<Object> d, Kind k) : dict(std::move(d)), kind(k) {
        weight = dict->weight;
        depth = dict->depth;
    }
    std::shared_ptr<Object> dict;
    Kind kind;
    const Dict& of() const;
    Value at(size_t i) const;
};

struct Range : Object {
    int64_t start, stop, step;
    int64_t length() const;
    int64_t at(int64_t i) const { return start + i * step; }
};

// Gives its items once, one at a time, as they are asked for.
struct Iterator : Object {
    virtual bool next(Value& out) = 0;
    virtual std::string_view type_name() const { return "generator"; }
    virtual std::string_view function_name() const { return {}; }  // of a generator: whose it is
};

struct UndefinedObject : Object {
    std::string hint;  // the whole message, where it is not empty
    bool has_owner = false;
    Value owner, name;
    std::string error_type = "UndefinedError";
    std::string message() const;
};

struct Namespace : Object {
    Dict attributes;
};

struct Arguments {
    std::vector<Value> positional;
    std::vector<std::pair<std::string, Value>> keyword;
};

struct Callable : Object {
    using Function = std::function<Value(Interpreter&, const Arguments&)>;
    enum class Kind { Function, Builtin, Method, Class, Macro, Joiner, BlockReference };
    Callable(Kind k, std::string n, Function f) : kind(k), name(std::move(n)), call(std::move(f)) {}
    Kind kind;
    std::string name;   // "upper", "namespace"
    std::string owner;  // of a method: the name of its object's type
    Function call;
};

struct Cycler : Object {
    std::vector<Value> items;
    size_t position = 0;
};

Value make_dict(std::shared_ptr<Dict> dict);
Value make_callable(Callable::Kind kind, std::string name, Callable::Function function);
Value make_iterator(std::shared_ptr<Iterator> iterator);
Value undefined_named(std::string_view name);
Value undefined_hint(std::string hint);
Value undefined_of(const Value& owner, const Value& name);

[[noreturn]] void fail_attribute(const Value& value, std::string_view name);  // AttributeError: has no such attribute
std::string_view type_name(const Value& value);                               // type(value).__name__
std::string qualified_type_name(const Value& value);       // as Jinja2's messages say it: "list object", "None"
[[noreturn]] void fail_undefined(const Value& undefined);  // what using it raises

bool truth(const Value& value);
bool equal(const Value& a, const Value& b);
bool identical(const Value& a, const Value& b);  // `is`
size_t hash(const Value& value);                 // TypeError: unhashable type

std::string repr(const Value& value);
std::string str(const Value& value);
std::string repr_text(std::string_view text);  // a str's repr: quotes and escapes
std::string repr_real(double value);           // the shortest digits that read back the same
std::string ascii(const Value& value);         // repr without characters beyond ASCII

}  // namespace minfer::chat::jinja
