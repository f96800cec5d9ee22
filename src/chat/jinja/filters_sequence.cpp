// Filters over sequences as a whole.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "chat/jinja/arguments.h"
#include "chat/jinja/attribute_path.h"
#include "chat/jinja/error.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/generator.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/operators.h"

namespace minfer::chat::jinja {
namespace {

Value no() { return Value::boolean(false); }

Value length_filter(Interpreter&, const Value& v, const Arguments& a) {
    forbid_keywords("len", a);
    if (!a.positional.empty())
        raise_type_error(fmt::format("len() takes exactly one argument ({} given)", a.positional.size() + 1));
    return Value::integer(int64_t(length(v)));
}

Value list_filter(Interpreter&, const Value& v, const Arguments& a) {
    bind("sync_do_list", {"value"}, {}, a);
    return Value::list(to_vector(v));
}

Value first(Interpreter&, const Value& v, const Arguments& a) {
    bind("sync_do_first", {"environment", "seq"}, {}, a);
    Value item;
    const Value iterator = iterate(v);
    return iterator.as_iterator().next(item) ? item : undefined_hint("No first item, sequence was empty.");
}

Value last(Interpreter&, const Value& v, const Arguments& a) {
    bind("do_last", {"environment", "seq"}, {}, a);
    Value item;
    const Value iterator = reversed(v);
    return iterator.as_iterator().next(item) ? item : undefined_hint("No last item, sequence was empty.");
}

Value random(Interpreter&, const Value&, const Arguments&) {
    raise_type_error("minfer's templates have no filter random: a prompt is the same each time");
}

Value join(Interpreter& i, const Value& v, const Arguments& a) {
    const auto given =
        bind("sync_do_join", {"eval_ctx", "value"}, {{"d", Value::string("")}, {"attribute", Value::none()}}, a);
    const AttributePath path(given[1]);
    std::vector<Value> parts;
    bool markup = given[0].is_markup();
    const Value iterator = iterate(v);
    for (Value each; iterator.as_iterator().next(each);) {
        parts.push_back(given[1].is_none() ? each : path.of(i, each));
        markup |= parts.back().is_markup();
        i.spend(1);
    }
    markup &= i.autoescape();
    const std::string separator = markup ? escape(given[0]).text() : str(given[0]);
    std::string out;
    for (size_t k = 0; k < parts.size(); ++k) {
        if (k) out += separator;
        out += markup ? escape(parts[k]).text() : str(parts[k]);
        if (out.size() > kMaxBytes) fail_too_large("text");
    }
    return Value::string(std::move(out), markup);
}

Value reverse(Interpreter&, const Value& v, const Arguments& a) {
    bind("do_reverse", {"value"}, {}, a);
    if (v.is_str()) return slice(v, Value::none(), Value::none(), Value::integer(-1));
    if (v.is_undefined() || (is_iterable(v) && !v.is(Type::Iterator) && !v.is(Type::Loop))) return reversed(v);
    if (!is_iterable(v)) raise("FilterArgumentError", "argument must be iterable");
    std::vector<Value> items = to_vector(v);
    std::ranges::reverse(items);
    return Value::list(std::move(items));
}

std::vector<Value> sorted(Interpreter& interpreter, std::vector<std::pair<Value, Value>> pairs, bool descending) {
    size_t log = 1;
    while ((size_t(1) << log) < pairs.size()) ++log;
    uint64_t weight = 0;
    for (const auto& [key, value] : pairs) weight += key.object() ? 1 + key.object()->weight / 4 : 1;
    interpreter.spend(weight * log);
    sort_by(pairs, descending);
    std::vector<Value> out;
    out.reserve(pairs.size());
    for (auto& pair : pairs) out.push_back(std::move(pair.second));
    return out;
}

Value sort(Interpreter& i, const Value& v, const Arguments& a) {
    const auto given = bind("do_sort", {"environment", "value"},
                            {{"reverse", no()}, {"case_sensitive", no()}, {"attribute", Value::none()}}, a);
    std::vector<AttributePath> paths;
    if (given[2].is_str()) {
        const std::string& text = given[2].text();
        for (size_t from = 0; from <= text.size();) {
            const size_t comma = std::min(text.find(',', from), text.size());
            paths.emplace_back(Value::string(text.substr(from, comma - from)));
            from = comma + 1;
        }
    } else {
        paths.emplace_back(given[2]);
    }
    std::vector<std::pair<Value, Value>> pairs;
    const std::vector<Value> items = to_vector(v);
    to_index(given[0]);  // sorted() wants an integer
    for (const Value& each : items) {
        std::vector<Value> key;
        for (const AttributePath& path : paths) key.push_back(fold_case(path.of(i, each), truth(given[1])));
        pairs.emplace_back(Value::list(std::move(key)), each);
    }
    return Value::list(sorted(i, std::move(pairs), truth(given[0])));
}

Value dict_sort(Interpreter& i, const Value& v, const Arguments& a) {
    const auto given =
        bind("do_dictsort", {"value"}, {{"case_sensitive", no()}, {"by", Value::string("key")}, {"reverse", no()}}, a);
    const bool by_key = given[1].is_str() && given[1].text() == "key";
    if (!by_key && !(given[1].is_str() && given[1].text() == "value"))
        raise("FilterArgumentError", "You can only sort by either \"key\" or \"value\"");
    if (!v.is(Type::Dict)) fail_attribute(v, "items");
    to_index(given[2]);
    std::vector<std::pair<Value, Value>> pairs;
    for (const auto& [key, value] : v.as_dict().entries)
        pairs.emplace_back(fold_case(by_key ? key : value, truth(given[0])), Value::tuple({key, value}));
    return Value::list(sorted(i, std::move(pairs), truth(given[2])));
}

Value group_by(Interpreter& i, const Value& v, const Arguments& a) {
    const auto given = bind("sync_do_groupby", {"environment", "value"},
                            {{"attribute", {}}, {"default", Value::none()}, {"case_sensitive", no()}}, a);
    const AttributePath path(given[0]);
    const bool case_sensitive = truth(given[2]);
    std::vector<std::pair<Value, Value>> pairs;
    for (const Value& each : to_vector(v))
        pairs.emplace_back(fold_case(path.of(i, each, given[1]), case_sensitive), each);
    const std::vector<Value> items = sorted(i, std::move(pairs), false);
    std::vector<Value> groups;
    for (size_t from = 0; from < items.size();) {
        const Value key = fold_case(path.of(i, items[from], given[1]), case_sensitive);
        std::vector<Value> members = {items[from++]};
        while (from < items.size() && equal(fold_case(path.of(i, items[from], given[1]), case_sensitive), key))
            members.push_back(items[from++]);
        const Value shown = case_sensitive ? key : path.of(i, members[0], given[1]);
        auto group = std::make_shared<Sequence>(std::vector<Value>{shown, Value::list(std::move(members))});
        group->is_group = true;
        groups.push_back(Value::object(Type::Tuple, std::move(group)));
    }
    return Value::list(std::move(groups));
}

Value extreme(Interpreter& i, const Value& v, const Arguments& a, Op op, const char* name) {
    const auto given =
        bind(name, {"environment", "value"}, {{"case_sensitive", no()}, {"attribute", Value::none()}}, a);
    const Value iterator = iterate(v);
    const AttributePath path(given[1]);
    Value best, best_key, each;
    if (!iterator.as_iterator().next(best)) return undefined_hint("No aggregated item, sequence was empty.");
    best_key = fold_case(path.of(i, best), truth(given[0]));
    while (iterator.as_iterator().next(each)) {
        i.spend(1);
        const Value key = fold_case(path.of(i, each), truth(given[0]));
        if (!compare(op, key, best_key)) continue;
        best = each;
        best_key = key;
    }
    return best;
}

Value sum(Interpreter& i, const Value& v, const Arguments& a) {
    const auto given = bind("sync_do_sum", {"environment", "iterable"},
                            {{"attribute", Value::none()}, {"start", Value::integer(0)}}, a);
    const AttributePath path(given[0]);
    const Value iterator = iterate(v);
    if (given[1].is_str()) raise_type_error("sum() can't sum strings [use ''.join(seq) instead]");
    Value total = given[1];
    for (Value each; iterator.as_iterator().next(each);) {
        total = binary(Op::Add, total, path.of(i, each));
        i.spend(1);
        i.spend_on(total);
    }
    return total;
}

// unique, batch, slice and items are generators: they do nothing until their items are asked for.

Value unique(Interpreter& i, const Value& v, const Arguments& a) {
    const auto given =
        bind("sync_do_unique", {"environment", "value"}, {{"case_sensitive", no()}, {"attribute", Value::none()}}, a);
    const auto seen = std::make_shared<Dict>();
    return make_generator(
        "sync_do_unique", v,
        [&i, seen, path = AttributePath(given[1]), exact = truth(given[0])](const Value& source, Value& out) {
            for (Value each; source.as_iterator().next(each);) {
                i.spend(1);
                const Value key = fold_case(path.of(i, each), exact);
                if (seen->find(key)) continue;
                seen->set(key, Value::none());
                out = each;
                return true;
            }
            return false;
        });
}

Value batch(Interpreter& i, const Value& v, const Arguments& a) {
    const auto given = bind("do_batch", {"value"}, {{"linecount", {}}, {"fill_with", Value::none()}}, a);
    return make_generator(
        "do_batch", v, [&i, given, pending = std::optional<Value>()](const Value& source, Value& out) mutable {
            std::vector<Value> row;
            if (pending) row.push_back(*std::exchange(pending, std::nullopt));
            for (Value each; source.as_iterator().next(each);) {
                i.spend(1);
                if (equal(Value::integer(int64_t(row.size())), given[0])) {
                    pending = each;
                    out = Value::list(std::move(row));
                    return true;
                }
                row.push_back(each);
            }
            if (row.empty()) return false;
            const Value size = Value::integer(int64_t(row.size()));
            if (!given[1].is_none() && compare(Op::Lt, size, given[0])) {
                const Value fill = binary(Op::Mul, Value::list({given[1]}), binary(Op::Sub, given[0], size));
                i.spend(fill.items().size());
                row.insert(row.end(), fill.items().begin(), fill.items().end());
            }
            out = Value::list(std::move(row));
            return true;
        });
}

Value slice_filter(Interpreter& i, const Value& v, const Arguments& a) {
    const auto given = bind("sync_do_slice", {"value"}, {{"slices", {}}, {"fill_with", Value::none()}}, a);
    struct State {
        std::vector<Value> items;
        int64_t number = 0, offset = 0, each = 0, extra = 0, count = 0;
        bool started = false;
    };
    return make_generator("sync_do_slice", v, [&i, given, s = State()](const Value& source, Value& out) mutable {
        if (!std::exchange(s.started, true)) {
            s.items = to_vector(source);
            const Value size = Value::integer(int64_t(s.items.size()));
            const Value quotient = binary(Op::FloorDiv, size, given[0]), rest = binary(Op::Mod, size, given[0]);
            s.count = to_index(given[0]);
            s.each = quotient.as_int();
            s.extra = rest.as_int();
        }
        if (s.number >= s.count) return false;
        i.spend(1);
        const int64_t start = s.offset + s.number * s.each;
        const bool is_long = s.number < s.extra;
        if (is_long) ++s.offset;
        const int64_t end = s.offset + (s.number + 1) * s.each;
        ++s.number;
        std::vector<Value> row(s.items.begin() + long(start), s.items.begin() + long(end));
        if (!given[1].is_none() && !is_long) row.push_back(given[1]);
        out = Value::list(std::move(row));
        return true;
    });
}

Value items(Interpreter&, const Value& v, const Arguments& a) {
    bind("do_items", {"value"}, {}, a);
    // The source is no part of it: what is no mapping need not be iterable for its own error.
    return make_generator("do_items", Value::list({}),
                          [mapping = v, index = size_t(0)](const Value&, Value& out) mutable {
                              if (mapping.is_undefined()) return false;
                              if (!mapping.is(Type::Dict)) raise_type_error("Can only get item pairs from a mapping.");
                              if (index >= mapping.as_dict().entries.size()) return false;
                              const auto& [key, value] = mapping.as_dict().entries[index++];
                              out = Value::tuple({key, value});
                              return true;
                          });
}

}  // namespace

const std::vector<NamedFilter> kSequenceFilters = {
    {"length", length_filter},
    {"count", length_filter},
    {"list", list_filter},
    {"first", first},
    {"last", last},
    {"random", random},
    {"join", join},
    {"reverse", reverse},
    {"sort", sort},
    {"dictsort", dict_sort},
    {"groupby", group_by},
    {"min", [](Interpreter& i, const Value& v, const Arguments& a) { return extreme(i, v, a, Op::Lt, "do_min"); }},
    {"max", [](Interpreter& i, const Value& v, const Arguments& a) { return extreme(i, v, a, Op::Gt, "do_max"); }},
    {"sum", sum},
    {"unique", unique},
    {"batch", batch},
    {"slice", slice_filter},
    {"items", items},
};

}  // namespace minfer::chat::jinja
