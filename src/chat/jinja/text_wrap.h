// Python's textwrap.wrap, as the wordwrap filter calls it: tabs and white space stay as they are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/jinja/value.h"

namespace minfer::chat::jinja {

std::vector<std::string> wrap_text(std::string_view text, const Value& width, bool break_long_words,
                                   bool break_on_hyphens);

}  // namespace minfer::chat::jinja
