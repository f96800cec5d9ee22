// Text from a file or a name, for a terminal or a log.
#pragma once

#include <string>
#include <string_view>

namespace minfer {

// `text` with its control characters escaped (U+0000 to U+001F, U+007F to U+009F): what a file says must not command a
// terminal, and stays on one line.
std::string printable(std::string_view text);

}  // namespace minfer
