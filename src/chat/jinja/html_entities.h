// Character references of HTML, "&amp;" and its like.
#pragma once

#include <string>
#include <string_view>

namespace minfer::chat::jinja {

// The text with each reference replaced by what it stands for, by the rules of the HTML standard as Python's
// html.unescape has them: a name without its semicolon counts where the standard knows it so, the longest known start
// of a name counts for the whole, numbers of Windows-1252 are mended, and those of no character give U+FFFD or nothing.
std::string unescape_html(std::string_view text);

}  // namespace minfer::chat::jinja
