// Python's pprint.pformat, in 80 columns.
#pragma once

#include <string>

#include "chat/jinja/value.h"

namespace minfer::chat::jinja {

std::string pretty(const Value& value);

}  // namespace minfer::chat::jinja
