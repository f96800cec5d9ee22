// The escapes of a string in a template: Python's, of "unicode-escape".
#pragma once

#include <string>
#include <string_view>

namespace minfer::chat::jinja {

// The text between the quotes to what it stands for. Throws TemplateSyntaxError for a truncated escape.
std::string unescape_literal(std::string_view text);

}  // namespace minfer::chat::jinja
