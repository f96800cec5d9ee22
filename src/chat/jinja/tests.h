// The tests of Jinja2 3.1.6: what stands after `is`.
#pragma once

#include <string_view>

#include "chat/jinja/value.h"

namespace minfer::chat::jinja {

using TestFunction = bool (*)(Interpreter& interpreter, const Value& input, const Arguments& arguments);

// Null where there is none of that name.
TestFunction find_test(std::string_view name);

}  // namespace minfer::chat::jinja
