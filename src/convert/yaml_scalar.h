// Which plain scalars of YAML are strings.
#pragma once

#include <string_view>

namespace minfer::convert {

// Whether a plain scalar, one without quotes and tag, is a string by YAML 1.1 as PyYAML has it, and no number, date,
// truth value, null, or "<<" and "=".
bool is_plain_yaml_string(std::string_view scalar);

}  // namespace minfer::convert
