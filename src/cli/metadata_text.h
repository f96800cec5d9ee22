// Metadata values for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "gguf/value.h"

namespace minfer::cli {

// One line: control characters escaped, and unless `full` long strings and arrays cut, saying how much is left out.
std::string value_text(const gguf::Value& value, bool full);
// "u32", "string", "array[i32]".
std::string value_type_text(const gguf::Value& value);

// A scalar is {"type", "value"}, an array {"type", "count", "values"}; arrays of more than 16 items have their values
// only where `full`. Numbers that JSON lacks are the strings "NaN", "Infinity" and "-Infinity".
nlohmann::ordered_json value_json(const gguf::Value& value, bool full);

// JSON text on two-space indents. Bytes that are no UTF-8 become U+FFFD.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace minfer::cli
