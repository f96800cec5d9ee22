// JSON texts of values that are not made of others: strings, numbers, dates. Each kind is one rule of the grammar,
// however many places need it, so that all of them share its masks.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "sampling/grammar/grammar.h"
#include "sampling/json_schema/facts.h"

namespace minfer::sampling::json_schema {

class TextRules {
  public:
    // Adds rules to the grammar, which is borrowed.
    explicit TextRules(grammar::Grammar& grammar) : grammar_(grammar) {}

    // Between the parts of an object or array: nothing, a space, or a line break and spaces.
    grammar::ExpressionId space();

    // A string of min to max characters, however they are spelled.
    grammar::ExpressionId string(size_t min, size_t max);
    // Nothing where the format is not done.
    std::optional<grammar::ExpressionId> format(std::string_view name);
    // A string, with its quotes, that the regular expression matches. Throws as parse_pattern does (pattern.h).
    grammar::ExpressionId pattern(const std::string& expression, const std::string& path, size_t min, size_t max);
    // The name of a property, spelled without escapes, that is none of these.
    grammar::ExpressionId name_except(const std::vector<std::string>& names);

    // Nothing where no number, spelled as this does, lies within the bounds.
    std::optional<grammar::ExpressionId> integer(std::optional<Bound> minimum, std::optional<Bound> maximum);
    std::optional<grammar::ExpressionId> number(std::optional<Bound> minimum, std::optional<Bound> maximum);

  private:
    using Make = std::function<grammar::ExpressionId()>;
    grammar::ExpressionId rule(const std::string& name, const Make& make);

    grammar::ExpressionId digits(uint32_t min, uint32_t max);
    grammar::ExpressionId digit(char from, char to);
    grammar::ExpressionId same_length(std::string_view from, std::string_view to);
    grammar::ExpressionId whole(uint64_t from, uint64_t to);
    grammar::ExpressionId quoted(grammar::ExpressionId inner);
    grammar::ExpressionId date();
    grammar::ExpressionId time();
    grammar::ExpressionId uuid();
    std::vector<grammar::ExpressionId> magnitudes(Bound least, Bound most, bool negative);
    grammar::ExpressionId names_below(const std::vector<std::string>& names, size_t at);

    grammar::Grammar& grammar_;
    std::map<std::string, grammar::ExpressionId> known_;  // calls of rules, by name
};

// One character of a JSON string that is one of these: as it is, or by an escape where JSON needs one.
grammar::ExpressionId string_character(grammar::Grammar& grammar, const std::vector<grammar::CodePoints>& characters);

}  // namespace minfer::sampling::json_schema
