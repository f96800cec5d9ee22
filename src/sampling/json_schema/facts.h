// Everything that some schemas say together of one value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace minfer::sampling::json_schema {

using Json = nlohmann::ordered_json;

// A schema where it stands. Borrowed from the document.
struct Located {
    const Json* schema = nullptr;
    std::string path;  // "#/properties/age"
    bool operator==(const Located& other) const { return schema == other.schema; }
    auto operator<=>(const Located& other) const { return schema <=> other.schema; }
};

namespace type {  // a set of them is a number
constexpr uint8_t kNull = 1, kBoolean = 2, kObject = 4, kArray = 8, kString = 16, kInteger = 32, kFraction = 64;
constexpr uint8_t kNumber = kInteger | kFraction, kAll = 127;
}  // namespace type

struct Bound {
    double value = 0;
    bool exclusive = false;
};

// What one schema says of an object's properties.
struct ObjectPart {
    std::vector<std::pair<std::string, Located>> properties;
    std::optional<Located> additional;  // of properties that are not among these
};

struct Alternatives {
    const Json* found_in = nullptr;  // the one of Wanted::schemas that led here
    const Json* keyword = nullptr;   // the array of anyOf or oneOf
    std::vector<Located> schemas;
    bool exactly_one = false;
};

struct Facts {
    std::string path;                         // of the first schema, for messages
    uint8_t accepted = type::kAll;            // types that the schemas allow
    uint8_t implied = 0;                      // types that their other keywords are about
    std::optional<std::vector<Json>> values;  // of enum and const
    std::optional<Bound> minimum, maximum;
    bool whole = false;  // "multipleOf": 1
    size_t min_length = 0, max_length = std::numeric_limits<size_t>::max();
    std::vector<std::pair<std::string, std::string>> patterns;  // expression, path
    std::vector<std::pair<std::string, std::string>> formats;   // name, path
    std::vector<ObjectPart> objects;
    std::set<std::string> required;
    size_t min_properties = 0, max_properties = std::numeric_limits<size_t>::max();
    bool no_extra_properties = false;                // "unevaluatedProperties": false
    std::vector<std::vector<Located>> prefix_items;  // by position, all that hold for it
    std::vector<Located> items;                      // all that hold for the rest
    size_t min_items = 0, max_items = std::numeric_limits<size_t>::max();
    std::vector<Alternatives> alternatives;  // those of `decided` left out

    // Types that a text of the grammar may have: where no type is given, those that the other keywords are about.
    uint8_t generated() const { return accepted == type::kAll && implied != 0 ? implied : accepted; }
};

// A value that all of these allow; of the keywords `decided` one alternative is among the schemas already.
struct Wanted {
    std::vector<Located> schemas;
    std::set<const Json*> decided = {};
    // For each alternative among the schemas, the keywords that it was chosen for: one that comes back to such a
    // keyword has no end.
    std::map<const Json*, std::set<const Json*>> chosen_for = {};
};

// Follows $ref and allOf. Throws as grammar_of does.
Facts facts_of(const Json& document, const Wanted& wanted);

// The types that a value is of: kInteger for 3 and for 3.0.
uint8_t type_of(const Json& value);

// Whether no text of the grammar of one is valid under the other: what can be told from types, values and the required
// properties of objects. `true` is certain.
bool disjoint(const Json& document, const Located& a, const Located& b);

}  // namespace minfer::sampling::json_schema
