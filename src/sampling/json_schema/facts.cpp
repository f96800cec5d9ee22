#include "sampling/json_schema/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>

#include "base/error.h"

namespace minfer::sampling::json_schema {
namespace {

constexpr int kDeepest = 100;  // of references and allOf within each other

[[noreturn]] void bad(const Located& at, std::string_view keyword, const Json& found, std::string_view expected) {
    std::string shown = found.dump();
    if (shown.size() > 60) shown = shown.substr(0, 57) + "...";
    throw FormatError("JSON schema", fmt::format("{}/{}", at.path, keyword), shown, std::string(expected));
}

size_t count(const Located& at, std::string_view keyword, const Json& value) {
    // 2.0 is an integer in JSON Schema.
    if (!value.is_number() || value.get<double>() < 0 || value.get<double>() != std::floor(value.get<double>()))
        bad(at, keyword, value, "a whole number, 0 or more");
    return value.get<double>() > 1e9 ? size_t(1'000'000'000) : size_t(value.get<double>());
}

uint8_t named_type(const Located& at, const Json& name) {
    static const std::map<std::string_view, uint8_t> kTypes = {
        {"null", type::kNull},     {"boolean", type::kBoolean}, {"object", type::kObject},  {"array", type::kArray},
        {"string", type::kString}, {"number", type::kNumber},   {"integer", type::kInteger}};
    const auto found = name.is_string() ? kTypes.find(name.get_ref<const std::string&>()) : kTypes.end();
    if (found == kTypes.end()) bad(at, "type", name, "null, boolean, object, array, string, number or integer");
    return found->second;
}

std::string unescape_pointer(std::string_view token) {
    std::string out;
    for (size_t i = 0; i < token.size(); ++i) {
        if (token[i] == '~' && i + 1 < token.size() && (token[i + 1] == '0' || token[i + 1] == '1')) {
            out += token[++i] == '0' ? '~' : '/';
        } else if (token[i] == '%' && i + 2 < token.size()) {
            uint8_t byte = 0;
            const auto [end, error] = std::from_chars(token.data() + i + 1, token.data() + i + 3, byte, 16);
            if (error != std::errc() || end != token.data() + i + 3) return std::string(token);
            out += char(byte);
            i += 2;
        } else {
            out += token[i];
        }
    }
    return out;
}

Located resolve(const Json& document, const Located& at, const Json& reference) {
    if (!reference.is_string()) bad(at, "$ref", reference, "a string");
    const std::string& text = reference.get_ref<const std::string&>();
    if (text != "#" && !text.starts_with("#/"))
        throw UnsupportedError(
            fmt::format("JSON schema: {}/$ref: '{}' is not done; references go within the schema, as '#/$defs/name'",
                        at.path, text));
    Located found{&document, "#"};
    for (size_t start = 2; start <= text.size();) {
        const size_t end = std::min(text.find('/', start), text.size());
        const std::string token = unescape_pointer(std::string_view(text).substr(start, end - start));
        const Json* next = nullptr;
        if (found.schema->is_object() && found.schema->contains(token)) {
            next = &found.schema->at(token);
        } else if (found.schema->is_array()) {
            size_t index = 0;
            const auto [last, error] = std::from_chars(token.data(), token.data() + token.size(), index);
            if (error == std::errc() && last == token.data() + token.size() && index < found.schema->size())
                next = &found.schema->at(index);
        }
        if (!next) bad(at, "$ref", reference, "the path of something in the schema");
        found = {next, found.path + "/" + token};
        start = end + 1;
    }
    return found;
}

class Collector {
  public:
    Collector(const Json& document, const Wanted& wanted) : document_(document), wanted_(wanted) {
        facts_.path = wanted.schemas.empty() ? "#" : wanted.schemas[0].path;
        for (const Located& schema : wanted.schemas) {
            top_ = schema.schema;
            add(schema, 0);
        }
    }
    Facts take() { return std::move(facts_); }

  private:
    void add(const Located& at, int depth) {
        if (at.schema->is_boolean()) {
            if (!at.schema->get<bool>()) facts_.accepted = 0;
            return;
        }
        if (!at.schema->is_object())
            throw FormatError("JSON schema", at.path, at.schema->dump().substr(0, 60), "an object, true or false");
        if (depth > kDeepest || std::ranges::find(open_, at.schema) != open_.end() || comes_back_to_its_choice(at))
            throw UnsupportedError(
                fmt::format("JSON schema: {}: it refers to itself without an object or array between", at.path));
        if (!done_.insert(at.schema).second) return;  // said already
        open_.push_back(at.schema);
        const Json& schema = *at.schema;
        for (const auto& [keyword, value] : schema.items()) one(at, keyword, value);
        add_object(at);
        add_items(at);
        if (const auto it = schema.find("$ref"); it != schema.end()) add(resolve(document_, at, *it), depth + 1);
        if (const auto it = schema.find("allOf"); it != schema.end()) {
            if (!it->is_array()) bad(at, "allOf", *it, "an array");
            for (size_t i = 0; i < it->size(); ++i) add({&(*it)[i], fmt::format("{}/allOf/{}", at.path, i)}, depth + 1);
        }
        open_.pop_back();
    }

    bool comes_back_to_its_choice(const Located& at) const {
        const auto chosen_for = wanted_.chosen_for.find(top_);
        if (chosen_for == wanted_.chosen_for.end()) return false;
        for (const char* keyword : {"anyOf", "oneOf"}) {
            const auto it = at.schema->find(keyword);
            if (it != at.schema->end() && chosen_for->second.contains(&*it)) return true;
        }
        return false;
    }

    void one(const Located& at, const std::string& keyword, const Json& value) {
        static const std::set<std::string_view> kElsewhere = {
            "$ref",  "allOf",       "nullable",       "properties", "additionalProperties",
            "items", "prefixItems", "additionalItems"};
        static const std::set<std::string_view> kSayNothing = {"$schema",
                                                               "$id",
                                                               "id",
                                                               "$comment",
                                                               "$defs",
                                                               "definitions",
                                                               "$anchor",
                                                               "$vocabulary",
                                                               "title",
                                                               "description",
                                                               "default",
                                                               "example",
                                                               "examples",
                                                               "deprecated",
                                                               "readOnly",
                                                               "writeOnly",
                                                               "externalDocs",
                                                               "xml",
                                                               "contentMediaType",
                                                               "contentEncoding",
                                                               "contentSchema",
                                                               "discriminator"};
        if (kElsewhere.contains(keyword) || kSayNothing.contains(keyword) || keyword.starts_with("x-")) {
            if (keyword == "properties" || keyword == "additionalProperties") facts_.implied |= type::kObject;
            if (keyword == "items" || keyword == "prefixItems") facts_.implied |= type::kArray;
        } else if (keyword == "type") {
            add_type(at, value);
        } else if (keyword == "enum") {
            if (!value.is_array() || value.empty()) bad(at, keyword, value, "an array of at least one value");
            add_values({value.begin(), value.end()});
        } else if (keyword == "const") {
            add_values({value});
        } else if (keyword == "anyOf" || keyword == "oneOf") {
            add_alternatives(at, keyword, value);
        } else if (!add_string(at, keyword, value) && !add_number(at, keyword, value) &&
                   !add_counts(at, keyword, value)) {
            refuse_unless_idle(at, keyword, value);
        }
    }

    // What is refused, unless this value of it restricts nothing.
    void refuse_unless_idle(const Located& at, const std::string& keyword, const Json& value) {
        const bool idle =
            (keyword == "uniqueItems" && value == false) ||
            ((keyword == "unevaluatedItems" || keyword == "propertyNames" || keyword == "unevaluatedProperties") &&
             value == true) ||
            ((keyword == "patternProperties" || keyword == "dependentRequired" || keyword == "dependentSchemas" ||
              keyword == "dependencies") &&
             value.is_object() && value.empty());
        if (keyword == "unevaluatedProperties" && value == false)
            facts_.no_extra_properties = true;
        else if (!idle)
            throw UnsupportedError(fmt::format("JSON schema: {}: the keyword '{}' is not done", at.path, keyword));
    }

    void add_type(const Located& at, const Json& value) {
        uint8_t types = 0;
        if (value.is_array())
            for (const Json& name : value) types |= named_type(at, name);
        else
            types = named_type(at, value);
        if (const auto nullable = at.schema->find("nullable"); nullable != at.schema->end() && *nullable == true)
            types |= type::kNull;
        facts_.accepted &= types;
    }

    void add_values(std::vector<Json> values) {
        if (facts_.values)
            std::erase_if(values,
                          [&](const Json& v) { return std::ranges::find(*facts_.values, v) == facts_.values->end(); });
        facts_.values = std::move(values);
    }

    void add_alternatives(const Located& at, const std::string& keyword, const Json& value) {
        if (!value.is_array() || value.empty()) bad(at, keyword, value, "an array of at least one schema");
        if (wanted_.decided.contains(&value)) return;
        Alternatives a{top_, &value, {}, keyword == "oneOf"};
        for (size_t i = 0; i < value.size(); ++i)
            a.schemas.push_back({&value[i], fmt::format("{}/{}/{}", at.path, keyword, i)});
        facts_.alternatives.push_back(std::move(a));
    }

    bool add_string(const Located& at, const std::string& keyword, const Json& value) {
        if (keyword != "pattern" && keyword != "format") return false;
        if (!value.is_string()) bad(at, keyword, value, "a string");
        (keyword == "pattern" ? facts_.patterns : facts_.formats).emplace_back(value.get<std::string>(), at.path);
        facts_.implied |= type::kString;
        return true;
    }

    bool add_number(const Located& at, const std::string& keyword, const Json& value) {
        const bool lower = keyword == "minimum" || keyword == "exclusiveMinimum";
        if (keyword == "multipleOf") {
            if (value != 1)
                throw UnsupportedError(fmt::format("JSON schema: {}: 'multipleOf' is done for 1 alone", at.path));
            facts_.whole = true;
        } else if (lower || keyword == "maximum" || keyword == "exclusiveMaximum") {
            if (value.is_boolean() &&
                keyword.starts_with("exclusive")) {  // draft 4 and OpenAPI 3.0: of the bound beside it
                if (value.get<bool>()) {
                    const char* beside = lower ? "minimum" : "maximum";
                    if (!at.schema->contains(beside) || !at.schema->at(beside).is_number())
                        bad(at, keyword, value, fmt::format("'{}' beside it", beside));
                    add_bound(lower, {at.schema->at(beside).get<double>(), true});
                }
            } else {
                if (!value.is_number()) bad(at, keyword, value, "a number");
                add_bound(lower, {value.get<double>(), keyword.starts_with("exclusive")});
            }
        } else {
            return false;
        }
        facts_.implied |= type::kNumber;
        return true;
    }

    void add_bound(bool lower, Bound bound) {
        std::optional<Bound>& known = lower ? facts_.minimum : facts_.maximum;
        const auto tighter = [&](const Bound& a, const Bound& b) {
            return a.value == b.value ? a.exclusive && !b.exclusive : lower ? a.value > b.value : a.value < b.value;
        };
        if (!known || tighter(bound, *known)) known = bound;
    }

    bool add_counts(const Located& at, const std::string& keyword, const Json& value) {
        struct Counted {
            std::string_view what;
            uint8_t type;
            size_t& min;
            size_t& max;
        };
        for (const Counted& counted :
             {Counted{"Length", type::kString, facts_.min_length, facts_.max_length},
              Counted{"Items", type::kArray, facts_.min_items, facts_.max_items},
              Counted{"Properties", type::kObject, facts_.min_properties, facts_.max_properties}}) {
            const bool is_min = keyword == fmt::format("min{}", counted.what);
            if (!is_min && keyword != fmt::format("max{}", counted.what)) continue;
            const size_t n = count(at, keyword, value);
            if (is_min)
                counted.min = std::max(counted.min, n);
            else
                counted.max = std::min(counted.max, n);
            facts_.implied |= counted.type;
            return true;
        }
        if (keyword != "required") return false;
        facts_.implied |= type::kObject;
        if (!value.is_array()) bad(at, keyword, value, "an array of names");
        for (const Json& name : value) {
            if (!name.is_string()) bad(at, keyword, name, "a name");
            facts_.required.insert(name.get<std::string>());
        }
        return true;
    }

    void add_object(const Located& at) {
        ObjectPart part;
        const Json& schema = *at.schema;
        if (const auto it = schema.find("properties"); it != schema.end()) {
            if (!it->is_object()) bad(at, "properties", *it, "an object");
            for (const auto& [name, value] : it->items())
                part.properties.emplace_back(name, Located{&value, fmt::format("{}/properties/{}", at.path, name)});
        }
        if (const auto it = schema.find("additionalProperties"); it != schema.end())
            part.additional = Located{&*it, at.path + "/additionalProperties"};
        if (!part.properties.empty() || part.additional) facts_.objects.push_back(std::move(part));
    }

    void add_items(const Located& at) {
        const Json& schema = *at.schema;
        auto prefix = schema.find("prefixItems"), rest = schema.find("items");
        if (prefix == schema.end() && rest != schema.end() && rest->is_array()) {  // draft 7's names for the two
            prefix = rest;
            rest = schema.find("additionalItems");
        }
        const size_t n_prefix = prefix == schema.end() ? 0 : prefix->size();
        if (prefix != schema.end() && !prefix->is_array()) bad(at, "prefixItems", *prefix, "an array");
        std::optional<Located> others;
        if (rest != schema.end()) others = Located{&*rest, at.path + "/items"};
        while (facts_.prefix_items.size() < n_prefix) facts_.prefix_items.push_back(facts_.items);
        for (size_t i = 0; i < facts_.prefix_items.size(); ++i) {
            if (i < n_prefix)
                facts_.prefix_items[i].push_back({&(*prefix)[i], fmt::format("{}/prefixItems/{}", at.path, i)});
            else if (others)
                facts_.prefix_items[i].push_back(*others);
        }
        if (others) facts_.items.push_back(*others);
    }

    const Json& document_;
    const Wanted& wanted_;
    Facts facts_;
    const Json* top_ = nullptr;
    std::vector<const Json*> open_;
    std::set<const Json*> done_;
};

bool disjoint(const Json& document, const Located& a, const Located& b, int depth) {
    constexpr int kDeepEnough = 4;
    const Facts x = facts_of(document, {{a}}), y = facts_of(document, {{b}});
    if ((x.generated() & y.accepted) == 0 && (y.generated() & x.accepted) == 0) return true;
    const auto values_are_not = [](const Facts& f, const Facts& of) {
        return f.values && std::ranges::all_of(*f.values, [&](const Json& v) {
                   return (type_of(v) & of.accepted) == 0 ||
                          (of.values && std::ranges::find(*of.values, v) == of.values->end());
               });
    };
    if (values_are_not(x, y) || values_are_not(y, x)) return true;
    if (x.generated() != type::kObject || y.generated() != type::kObject || depth == kDeepEnough) return false;
    for (const ObjectPart& part : x.objects)
        for (const auto& [name, schema] : part.properties) {
            if (!x.required.contains(name) || !y.required.contains(name)) continue;
            for (const ObjectPart& other : y.objects)
                for (const auto& [its_name, its_schema] : other.properties)
                    if (name == its_name && disjoint(document, schema, its_schema, depth + 1)) return true;
        }
    return false;
}

}  // namespace

Facts facts_of(const Json& document, const Wanted& wanted) { return Collector(document, wanted).take(); }

uint8_t type_of(const Json& value) {
    if (value.is_null()) return type::kNull;
    if (value.is_boolean()) return type::kBoolean;
    if (value.is_object()) return type::kObject;
    if (value.is_array()) return type::kArray;
    if (value.is_string()) return type::kString;
    const double x = value.get<double>();
    return x == std::floor(x) ? type::kInteger : type::kFraction;
}

bool disjoint(const Json& document, const Located& a, const Located& b) { return disjoint(document, a, b, 0); }

}  // namespace minfer::sampling::json_schema
