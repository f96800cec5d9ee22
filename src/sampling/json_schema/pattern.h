// Regular expressions of JSON Schema (ECMA-262) as expressions over the characters of JSON strings.
//
// Done: literals, `.`, classes, \d \w \s, escapes of characters, groups, alternatives, * + ? {m,n} and their lazy
// twins, ^ and $ at the ends of a whole alternative. \D, \W and \S stand for ASCII characters alone, for regular
// expressions differ in the rest. Not done, and refused by name: look-around, back references, \b, \p, anchors
// elsewhere.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sampling/grammar/grammar.h"

namespace minfer::sampling::json_schema {

struct Pattern {
    grammar::ExpressionId expression;  // a string's content that the pattern matches somewhere, without the quotes
    size_t shortest, longest;          // characters of it; longest may be the largest size_t
};

// `path` is the schema's place, for messages. Throws FormatError for what is no expression, UnsupportedError for what
// is not done.
Pattern parse_pattern(grammar::Grammar& grammar, std::string_view expression, std::string_view path);

}  // namespace minfer::sampling::json_schema
