// JSON Schema (2020-12, and what it shares with draft 7 and OpenAPI) as a grammar of JSON texts.
//
// Every text of the grammar is valid under the schema; not every valid text is of the grammar (docs/sampling.md says
// what is left out: other orders of properties, other spellings of numbers, ...). A keyword that would restrict values
// in a way that the grammar does not have is refused by name.
#pragma once

#include <string_view>

#include "sampling/grammar/grammar.h"

namespace minfer::sampling::json_schema {

// Throws FormatError for what is not JSON or not a schema, and UnsupportedError for keywords, patterns and references
// that are not done, with the place in the schema as a JSON pointer: "#/properties/age".
grammar::Grammar grammar_of(std::string_view schema);

}  // namespace minfer::sampling::json_schema
