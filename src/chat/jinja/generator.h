// Generators: what filters such as map give. They take the items of their source one at a time, as they are asked.
#pragma once

#include <functional>
#include <string_view>

#include "chat/jinja/value.h"

namespace minfer::chat::jinja {

// Puts the next item into `out`, or gives false at the end. `source` is an Iterator over the generator's input.
using GeneratorStep = std::function<bool(const Value& source, Value& out)>;

// The input is iterated over from the first item on, so one that cannot be is an error only then.
// `function` is the name of Jinja2's, which its text shows.
Value make_generator(std::string_view function, const Value& input, GeneratorStep step);

}  // namespace minfer::chat::jinja
