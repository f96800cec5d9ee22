#include "sampling/json_schema/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/error.h"
#include "sampling/json_schema/facts.h"
#include "sampling/json_schema/text_rules.h"

namespace minfer::sampling::json_schema {
namespace {

using grammar::ExpressionId;
using grammar::Grammar;
using grammar::kUnbounded;

constexpr size_t kMostRules = 5000;  // a schema of alternatives within alternatives multiplies them
constexpr int kDeepest = 200;
constexpr int kDeepestText = 1000;

uint32_t times(size_t n) { return n >= kUnbounded ? kUnbounded : uint32_t(n); }

class Builder {
  public:
    explicit Builder(const Json& document) : document_(document) {}

    Grammar build() {
        grammar_.rules.push_back({"root"});
        const std::optional<ExpressionId> root = value({{{&document_, "#"}}});
        if (!root) throw UnsupportedError("JSON schema: no value is valid under it");
        grammar_.rules[0].body = *root;
        grammar::check_left_recursion(grammar_);
        return std::move(grammar_);
    }

  private:
    // The texts of a value; nothing where there are none. A rule of its own: schemas that come back to themselves find
    // it in the making.
    std::optional<ExpressionId> value(Wanted wanted) {
        std::pair<std::vector<const Json*>, std::set<const Json*>> key;
        for (const Located& schema : wanted.schemas) key.first.push_back(schema.schema);
        key.second = wanted.decided;
        if (const auto known = known_.find(key); known != known_.end()) {
            if (!known->second) return std::nullopt;
            return grammar_.call(*known->second);
        }
        if (grammar_.rules.size() > kMostRules || depth_ > kDeepest)
            throw UnsupportedError(fmt::format("JSON schema: {}: too large once its parts are combined",
                                               wanted.schemas.empty() ? "#" : wanted.schemas[0].path));
        const auto rule = grammar::RuleId(grammar_.rules.size());
        grammar_.rules.push_back({fmt::format("value-{}", rule)});
        known_[key] = rule;
        ++depth_;
        const std::optional<ExpressionId> body = body_of(facts_of(document_, wanted), wanted);
        --depth_;
        if (!body) {
            known_[key] = std::nullopt;
            grammar_.rules[rule].body = grammar_.literal("");  // nobody calls it
            return std::nullopt;
        }
        grammar_.rules[rule].body = *body;
        return grammar_.call(rule);
    }

    std::optional<ExpressionId> body_of(const Facts& facts, const Wanted& wanted) {
        if (!facts.alternatives.empty()) return one_of(facts.alternatives[0], wanted);
        if (facts.values) return literals(facts);
        std::vector<ExpressionId> choices;
        const auto add = [&](std::optional<ExpressionId> choice) {
            if (choice) choices.push_back(*choice);
        };
        const uint8_t types = facts.generated();
        if (types & type::kObject) add(object(facts));
        if (types & type::kArray) add(array(facts));
        if (types & type::kString) add(string(facts));
        if ((types & type::kFraction) && !facts.whole)
            add(text_.number(facts.minimum, facts.maximum));
        else if (types & type::kInteger)
            add(text_.integer(facts.minimum, facts.maximum));
        if (types & type::kBoolean) {
            add(grammar_.literal("true"));
            add(grammar_.literal("false"));
        }
        if (types & type::kNull) add(grammar_.literal("null"));
        if (choices.empty()) return std::nullopt;
        return grammar_.choice(std::move(choices));
    }

    std::optional<ExpressionId> one_of(const Alternatives& alternatives, const Wanted& wanted) {
        const std::vector<Located>& all = alternatives.schemas;
        if (alternatives.exactly_one)
            for (size_t i = 0; i < all.size(); ++i)
                for (size_t j = i + 1; j < all.size(); ++j)
                    if (!disjoint(document_, all[i], all[j]))
                        throw UnsupportedError(
                            fmt::format("JSON schema: {}: one value may be valid under {} too, and 'oneOf' allows one "
                                        "of them; 'anyOf' is "
                                        "done, and 'oneOf' where a type, a constant or a required property with "
                                        "constants tells them apart",
                                        all[i].path, all[j].path));
        std::vector<ExpressionId> choices;
        for (const Located& schema : all) {
            Wanted chosen = wanted;
            chosen.schemas.push_back(schema);
            chosen.decided.insert(alternatives.keyword);
            std::set<const Json*> chosen_for = {alternatives.keyword};
            if (const auto outer = wanted.chosen_for.find(alternatives.found_in); outer != wanted.chosen_for.end())
                chosen_for.insert(outer->second.begin(), outer->second.end());
            chosen.chosen_for[schema.schema] = std::move(chosen_for);
            if (const std::optional<ExpressionId> choice = value(std::move(chosen))) choices.push_back(*choice);
        }
        if (choices.empty()) return std::nullopt;
        return grammar_.choice(std::move(choices));
    }

    std::optional<ExpressionId> literals(const Facts& facts) {
        std::vector<ExpressionId> choices;
        for (const Json& v : *facts.values) {
            const uint8_t its = type_of(v);
            if ((its & facts.accepted) == 0) continue;
            if (its & facts.implied)
                throw UnsupportedError(fmt::format(
                    "JSON schema: {}: 'enum' and 'const' beside other keywords for such values are not done",
                    facts.path));
            choices.push_back(grammar_.literal(v.dump()));
        }
        if (choices.empty()) return std::nullopt;
        return grammar_.choice(std::move(choices));
    }

    std::optional<ExpressionId> string(const Facts& facts) {
        if (facts.min_length > facts.max_length) return std::nullopt;
        if (facts.patterns.size() + facts.formats.size() > 1)
            throw UnsupportedError(fmt::format(
                "JSON schema: {}: more than one 'pattern' or 'format' of a string is not done", facts.path));
        if (!facts.patterns.empty()) {
            const auto& [expression, path] = facts.patterns[0];
            return text_.pattern(expression, path, facts.min_length, facts.max_length);
        }
        if (facts.formats.empty()) return text_.string(facts.min_length, facts.max_length);
        const auto& [name, path] = facts.formats[0];
        const std::optional<ExpressionId> format = text_.format(name);
        if (!format)
            throw UnsupportedError(fmt::format(
                "JSON schema: {}: the format '{}' is not done; date, time, date-time and uuid are", path, name));
        if (facts.min_length > 0 || facts.max_length != Facts{}.max_length)
            throw UnsupportedError(fmt::format("JSON schema: {}: lengths beside 'format' are not done", path));
        return format;
    }

    std::optional<ExpressionId> array(const Facts& facts) {
        std::vector<ExpressionId> parts;
        const size_t n_prefix = std::min(facts.prefix_items.size(), facts.max_items);
        std::optional<ExpressionId> rest;
        if (facts.max_items > n_prefix &&
            (facts.prefix_items.empty() || !facts.items.empty() || facts.min_items > n_prefix))
            rest = value({facts.items});
        for (size_t i = 0; i < n_prefix; ++i) {
            const std::optional<ExpressionId> item = value({facts.prefix_items[i]});
            if (!item) {
                if (i < facts.min_items) return std::nullopt;
                rest = std::nullopt;
                break;
            }
            parts.push_back(*item);
        }
        const size_t min = facts.min_items > parts.size() ? facts.min_items - parts.size() : 0;
        const size_t max = facts.max_items == Facts{}.max_items ? kUnbounded : facts.max_items - parts.size();
        if (min > max || (min > 0 && !rest)) return std::nullopt;
        if (facts.max_items < facts.min_items) return std::nullopt;
        return bracketed("[", list(parts, max > 0 ? rest : std::nullopt, min, max), "]");
    }

    // The parts, then `rest` min to max times, with commas between them all.
    ExpressionId list(const std::vector<ExpressionId>& parts, std::optional<ExpressionId> rest, size_t min,
                      size_t max) {
        std::vector<ExpressionId> all;
        for (size_t i = 0; i < parts.size(); ++i) {
            if (i > 0) all.push_back(comma());
            all.push_back(parts[i]);
        }
        if (!rest) return grammar_.sequence(std::move(all));
        const ExpressionId more = grammar_.sequence({comma(), *rest});
        if (!parts.empty()) {
            all.push_back(grammar_.repeat(more, times(min), times(max)));
            return grammar_.sequence(std::move(all));
        }
        const ExpressionId some =
            grammar_.sequence({*rest, grammar_.repeat(more, min > 0 ? times(min - 1) : 0,
                                                      max == kUnbounded ? kUnbounded : times(max - 1))});
        return min > 0 ? some : grammar_.optional(some);
    }

    ExpressionId comma() { return grammar_.sequence({grammar_.literal(","), text_.space()}); }
    ExpressionId bracketed(const char* open, ExpressionId inner, const char* close) {
        return grammar_.sequence(
            {grammar_.literal(open), text_.space(), inner, text_.space(), grammar_.literal(close)});
    }
    ExpressionId member(ExpressionId name, ExpressionId its_value) {
        return grammar_.sequence({name, grammar_.literal(":"), text_.space(), its_value});
    }

    struct Member {
        ExpressionId text;
        bool required;
    };

    std::optional<ExpressionId> object(const Facts& facts) {
        std::vector<std::string> names;
        const auto add_name = [&](const std::string& name) {
            if (std::ranges::find(names, name) == names.end()) names.push_back(name);
        };
        for (const ObjectPart& part : facts.objects)
            for (const auto& [name, schema] : part.properties) add_name(name);
        const bool has_properties = !names.empty();
        for (const std::string& name : facts.required) add_name(name);

        constexpr size_t kMostNames = 1000, kLongestName = 1000;
        if (names.size() > kMostNames ||
            std::ranges::any_of(names, [](const std::string& name) { return name.size() > kLongestName; }))
            throw UnsupportedError(
                fmt::format("JSON schema: {}: more than {} properties, or a name of more than {} bytes, are not done",
                            facts.path, kMostNames, kLongestName));
        std::vector<Member> members;
        size_t n_required = 0;
        for (const std::string& name : names) {
            const bool required = facts.required.contains(name);
            const std::optional<ExpressionId> its_value = value({property(facts, name)});
            if (!its_value && required) return std::nullopt;
            if (!its_value) continue;
            members.push_back({member(grammar_.literal(Json(name).dump()), *its_value), required});
            n_required += required;
        }
        if (n_required > facts.max_properties || facts.min_properties > facts.max_properties) return std::nullopt;
        if (facts.min_properties > n_required)
            throw UnsupportedError(
                fmt::format("JSON schema: {}: 'minProperties' is done where as many are required", facts.path));
        if (members.size() > facts.max_properties) {
            // Some of the optional ones would have to be left out: those that are required are always valid.
            std::erase_if(members, [](const Member& m) { return !m.required; });
        }
        const std::optional<ExpressionId> other = extra(facts, names, has_properties);
        const size_t most =
            facts.max_properties == Facts{}.max_properties ? kUnbounded : facts.max_properties - members.size();
        return bracketed("{", members_in_order(members, most > 0 ? other : std::nullopt, most), "}");
    }

    // What the schemas say of one property.
    static std::vector<Located> property(const Facts& facts, const std::string& name) {
        std::vector<Located> schemas;
        for (const ObjectPart& part : facts.objects) {
            const auto own = std::ranges::find(part.properties, name, [](const auto& p) { return p.first; });
            if (own != part.properties.end())
                schemas.push_back(own->second);
            else if (part.additional)
                schemas.push_back(*part.additional);
        }
        return schemas;
    }

    // A member with a name that no schema has. Where properties are named and none says otherwise, objects have these
    // alone, though JSON Schema would allow others: that is what people who write schemas mean.
    std::optional<ExpressionId> extra(const Facts& facts, const std::vector<std::string>& names, bool has_properties) {
        if (facts.no_extra_properties) return std::nullopt;
        std::vector<Located> schemas;
        for (const ObjectPart& part : facts.objects)
            if (part.additional) schemas.push_back(*part.additional);
        if (schemas.empty() && (has_properties || !names.empty())) return std::nullopt;
        const std::optional<ExpressionId> its_value = value({schemas});
        if (!its_value) return std::nullopt;
        return member(text_.name_except(names), *its_value);
    }

    ExpressionId members_in_order(const std::vector<Member>& members, std::optional<ExpressionId> other, size_t most) {
        const ExpressionId nothing = grammar_.sequence({});
        // From the last member to the first: what follows once a member stands there, and what follows while none does.
        ExpressionId after = nothing, before = nothing;
        if (other) {
            after = grammar_.repeat(grammar_.sequence({comma(), *other}), 0, times(most));
            before = list({}, other, 0, most);
        }
        for (size_t i = members.size(); i-- > 0;) {
            const Member& m = members[i];
            const ExpressionId first = grammar_.sequence({m.text, after});
            before = m.required ? first : grammar_.choice({first, before});
            const ExpressionId next = grammar_.sequence({comma(), m.text});
            after = grammar_.sequence({m.required ? next : grammar_.optional(next), after});
        }
        return before;
    }

    const Json& document_;
    Grammar grammar_;
    TextRules text_{grammar_};
    std::map<std::pair<std::vector<const Json*>, std::set<const Json*>>, std::optional<grammar::RuleId>> known_;
    int depth_ = 0;
};

}  // namespace

Grammar grammar_of(std::string_view schema) {
    // What reads the document further on, copying, comparing and printing included, calls itself for what is inside.
    const auto refuse_depth = [](int depth, Json::parse_event_t, const Json&) {
        if (depth > kDeepestText)
            throw UnsupportedError(fmt::format("JSON schema: lists and objects more than {} deep", kDeepestText));
        return true;
    };
    Json document;
    try {
        document = Json::parse(schema, refuse_depth);
    } catch (const Json::exception& e) {
        throw FormatError("JSON schema", "text", e.what(), "JSON");
    }
    return Builder(document).build();
}

}  // namespace minfer::sampling::json_schema
