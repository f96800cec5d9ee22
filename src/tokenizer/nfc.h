// Unicode normal form C, as of the Unicode version of the utf8proc library (2.8: Unicode 14).
#pragma once

#include <string>
#include <string_view>

namespace minfer::tokenizer {

// `text` is well-formed UTF-8. Time grows with its length, whatever the marks in it.
std::string to_nfc(std::string_view text);

}  // namespace minfer::tokenizer
