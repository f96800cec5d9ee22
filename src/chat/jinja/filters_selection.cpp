// Filters that map, choose and look up.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "chat/jinja/arguments.h"
#include "chat/jinja/attribute_path.h"
#include "chat/jinja/error.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/generator.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/operators.h"

namespace minfer::chat::jinja {
namespace {

Value default_filter(Interpreter&, const Value& v, const Arguments& a) {
    const auto given =
        bind("do_default", {"value"}, {{"default_value", Value::string("")}, {"boolean", Value::boolean(false)}}, a);
    return v.is_undefined() || (truth(given[1]) && !truth(v)) ? given[0] : v;
}

Value attr(Interpreter& i, const Value& v, const Arguments& a) {
    const auto given = bind("do_attr", {"environment", "obj"}, {{"name", {}}}, a);
    if (v.is_undefined()) fail_undefined(v);
    if (!given[0].is_str())
        raise_type_error(fmt::format("attribute name must be string, not '{}'", type_name(given[0])));
    const std::string& name = given[0].text();
    const bool exists =
        v.is(Type::Loop) ? v.as_loop().attribute(name, v).has_value() : find_attribute(v, name).has_value();
    return exists ? i.get_attribute(v, name) : undefined_of(v, given[0]);
}

Arguments from(const Arguments& a, size_t first) {
    Arguments out;
    out.keyword = a.keyword;
    if (first < a.positional.size()) out.positional.assign(a.positional.begin() + long(first), a.positional.end());
    return out;
}

// A false input gives nothing, whatever it is; the arguments are looked at with the first item.
Value empty_or(const Value& v) { return truth(v) ? v : Value::list({}); }

Value map(Interpreter& i, const Value& v, const Arguments& a) {
    struct State {
        std::optional<AttributePath> path;
        Value otherwise, filter;
        Arguments rest;
        bool started = false;
    };
    const bool is_empty = !truth(v);
    return make_generator(
        "sync_do_map", empty_or(v), [&i, a, is_empty, s = State()](const Value& source, Value& out) mutable {
            if (is_empty) return false;
            if (!std::exchange(s.started, true)) {
                const Value* attribute = nullptr;
                for (const auto& [key, value] : a.keyword)
                    if (key == "attribute") attribute = &value;
                if (a.positional.empty() && attribute) {
                    for (const auto& [key, value] : a.keyword) {
                        if (key == "default")
                            s.otherwise = value;
                        else if (key != "attribute")
                            raise("FilterArgumentError", fmt::format("Unexpected keyword argument {}", repr_text(key)));
                    }
                    s.path.emplace(*attribute);
                } else {
                    if (a.positional.empty()) raise("FilterArgumentError", "map requires a filter argument");
                    s.filter = a.positional[0];
                    s.rest = from(a, 1);
                }
            }
            Value item;
            if (!source.as_iterator().next(item)) return false;
            i.spend(1);
            out = s.path ? s.path->of(i, item, s.otherwise) : i.call_filter(s.filter, item, s.rest);
            return true;
        });
}

Value select(Interpreter& i, const Value& v, const Arguments& a, bool wanted, bool by_attribute) {
    struct State {
        std::optional<AttributePath> path;
        bool started = false;
    };
    const bool is_empty = !truth(v);
    return make_generator(
        "select_or_reject", empty_or(v),
        [&i, a, is_empty, wanted, by_attribute, s = State()](const Value& source, Value& out) mutable {
            if (is_empty) return false;
            const size_t offset = by_attribute ? 1 : 0;
            if (!std::exchange(s.started, true) && by_attribute) {
                if (a.positional.empty()) raise("FilterArgumentError", "Missing parameter for attribute name");
                s.path.emplace(a.positional[0]);
            }
            for (Value item; source.as_iterator().next(item);) {
                i.spend(1);
                const Value tested = s.path ? s.path->of(i, item) : item;
                const bool passes = a.positional.size() > offset
                                        ? i.call_test(a.positional[offset], tested, from(a, offset + 1))
                                        : truth(tested);
                if (passes != wanted) continue;
                out = item;
                return true;
            }
            return false;
        });
}

}  // namespace

const std::vector<NamedFilter> kSelectionFilters = {
    {"default", default_filter},
    {"d", default_filter},
    {"attr", attr},
    {"map", map},
    {"select", [](Interpreter& i, const Value& v, const Arguments& a) { return select(i, v, a, true, false); }},
    {"reject", [](Interpreter& i, const Value& v, const Arguments& a) { return select(i, v, a, false, false); }},
    {"selectattr", [](Interpreter& i, const Value& v, const Arguments& a) { return select(i, v, a, true, true); }},
    {"rejectattr", [](Interpreter& i, const Value& v, const Arguments& a) { return select(i, v, a, false, true); }},
};

}  // namespace minfer::chat::jinja
