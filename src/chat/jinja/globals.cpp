// The functions that every template finds.
#include <fmt/format.h>

#include "chat/jinja/arguments.h"
#include "chat/jinja/clock.h"
#include "chat/jinja/error.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/operators.h"

namespace minfer::chat::jinja {
namespace {

constexpr int64_t kMaxRange = 100000;  // of Jinja2's sandbox

Value range(Interpreter&, const Arguments& a) {
    if (!a.keyword.empty())
        raise_type_error(fmt::format("safe_range() got an unexpected keyword argument '{}'", a.keyword[0].first));
    const size_t n = a.positional.size();
    if (n == 0) raise_type_error("range expected at least 1 argument, got 0");
    if (n > 3) raise_type_error(fmt::format("range expected at most 3 arguments, got {}", n));
    std::vector<int64_t> given;
    for (const Value& each : a.positional) given.push_back(to_index(each));
    auto out = std::make_shared<Range>();
    out->start = n == 1 ? 0 : given[0];
    out->stop = n == 1 ? given[0] : given[1];
    out->step = n == 3 ? given[2] : 1;
    if (out->step == 0) raise_value_error("range() arg 3 must not be zero");
    const int64_t length = out->length();
    if (length > kMaxRange || length < 0) {
        raise("OverflowError",
              fmt::format("Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).", kMaxRange));
    }
    return Value::object(Type::Range, std::move(out));
}

// Python says the same of what it cannot iterate and of a TypeError within the iteration.
std::vector<Value> pair_of(const Value& element, size_t i) {
    try {
        return to_vector(element);
    } catch (const TemplateFailure& e) {
        if (e.type() != "TypeError") throw;
        raise_type_error(fmt::format("cannot convert dictionary update sequence element #{} to a sequence", i));
    }
}

// dict(mapping or pairs, name=value ...)
void fill_dict(Dict& dict, const Arguments& a) {
    if (a.positional.size() > 1)
        raise_type_error(fmt::format("dict expected at most 1 argument, got {}", a.positional.size()));
    if (!a.positional.empty()) {
        const Value& from = a.positional[0];
        if (from.is_undefined()) fail_undefined(from);
        if (from.is(Type::Dict)) {
            for (const auto& [key, value] : from.as_dict().entries) dict.set(key, value);
        } else {
            size_t i = 0;
            const Value iterator = iterate(from);
            for (Value each; iterator.as_iterator().next(each); ++i) {
                const std::vector<Value> pair = pair_of(each, i);
                if (pair.size() != 2) {
                    raise_value_error(fmt::format("dictionary update sequence element #{} has length {}; 2 is required",
                                                  i, pair.size()));
                }
                dict.set(pair[0], pair[1]);
            }
        }
    }
    for (const auto& [key, value] : a.keyword) dict.set(key, value);
}

Value dict(Interpreter& i, const Arguments& a) {
    const auto made = std::make_shared<Dict>();
    fill_dict(*made, a);
    i.spend(made->entries.size());
    return make_dict(made);
}

Value make_namespace(Interpreter& i, const Arguments& a) {
    auto made = std::make_shared<Namespace>();
    fill_dict(made->attributes, a);
    i.keep(made);
    return Value::object(Type::Namespace, std::move(made));
}

Value cycler(Interpreter&, const Arguments& a) {
    if (!a.keyword.empty())
        raise_type_error(fmt::format("Cycler.__init__() got an unexpected keyword argument '{}'", a.keyword[0].first));
    if (a.positional.empty()) raise("RuntimeError", "at least one item has to be provided");
    auto made = std::make_shared<Cycler>();
    made->items = a.positional;
    for (const Value& each : made->items) made->hold(each);
    return Value::object(Type::Cycler, std::move(made));
}

Value joiner(Interpreter&, const Arguments& a) {
    const Value separator = bind("Joiner.__init__", {"self"}, {{"sep", Value::string(", ")}}, a)[0];
    const auto call = [separator, used = false](Interpreter&, const Arguments& none) mutable {
        bind("Joiner.__call__", {"self"}, {}, none);
        return std::exchange(used, true) ? separator : Value::string("");
    };
    auto made = std::make_shared<Callable>(Callable::Kind::Joiner, "joiner", call);
    made->hold(separator);
    return Value::object(Type::Callable, std::move(made));
}

Value lipsum(Interpreter&, const Arguments&) {
    raise_type_error("minfer's templates have no lipsum: a prompt is the same each time");
}

Value raise_exception(Interpreter&, const Arguments& a) {
    raise("TemplateError", str(bind("raise_exception", {}, {{"message", {}}}, a)[0]));
}

Value strftime_now(Interpreter& i, const Arguments& a) {
    if (a.positional.empty() && a.keyword.empty())
        raise_type_error("strftime() missing required argument 'format' (pos 1)");
    const std::vector<Value> given = bind("strftime", {}, {{"format", {}}}, a);
    if (!given[0].is_str())
        raise_type_error(fmt::format("strftime() argument 1 must be str, not {}", type_name(given[0])));
    return Value::string(strftime(i.now(), given[0].text()));
}

}  // namespace

Dict make_globals() {
    using Kind = Callable::Kind;
    Dict out;
    out.set("range", make_callable(Kind::Function, "safe_range", range));
    out.set("dict", make_callable(Kind::Class, "dict", dict));
    out.set("lipsum", make_callable(Kind::Function, "generate_lorem_ipsum", lipsum));
    out.set("cycler", make_callable(Kind::Class, "cycler", cycler));
    out.set("joiner", make_callable(Kind::Class, "joiner", joiner));
    out.set("namespace", make_callable(Kind::Class, "namespace", make_namespace));
    out.set("raise_exception", make_callable(Kind::Function, "raise_exception", raise_exception));
    auto now = std::make_shared<Callable>(Kind::Builtin, "strftime", strftime_now);
    now->owner = "datetime.datetime";
    out.set("strftime_now", Value::object(Type::Callable, std::move(now)));
    return out;
}

}  // namespace minfer::chat::jinja
