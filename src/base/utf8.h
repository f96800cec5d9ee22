// One code point to UTF-8 and back. What is well-formed is told by tokenizer/utf8.h.
#pragma once

#include <string>
#include <string_view>

namespace minfer {

// `c` is at most U+10FFFF. A surrogate becomes the three bytes that its number would have.
void append_utf8(std::string& out, char32_t c);

// The code point of one whole well-formed sequence.
char32_t decode_utf8(std::string_view sequence);

}  // namespace minfer
