// Python's two ways to format values: "%d" % x, and "{:d}".format(x) with its format specifications.
#pragma once

#include <string>
#include <string_view>

#include "chat/jinja/value.h"

namespace minfer::chat::jinja {

// format(value, specification). ValueError, TypeError.
std::string format_value(const Value& value, std::string_view specification);

// str.format: fields, attributes and items by the interpreter's rules, !r !s !a, nested specifications.
std::string format_fields(Interpreter& interpreter, std::string_view format, const Arguments& arguments);
// str.format_map
std::string format_fields(Interpreter& interpreter, std::string_view format, const Value& mapping);

// A float by printf's conversion: one of eEfFgG. `alternate` is '#'.
std::string format_real(double value, char conversion, int precision, bool alternate);

// Digits with a separator between groups of `group`, counted from the right of the whole part.
std::string grouped(std::string_view digits, char separator, size_t group);

}  // namespace minfer::chat::jinja
