// Code points, and Python's answers about them. Text is UTF-8; a lone surrogate, which Python strings may hold, is kept
// as the three bytes that UTF-8 would give it. Bytes that are no UTF-8 decode to U+FFFD one by one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace minfer::chat::jinja::unicode {

// The code point at `position`, which moves past it. `position` is below text.size().
char32_t decode(std::string_view text, size_t& position);
std::string encode(char32_t code);
size_t length(std::string_view text);  // in code points
std::vector<char32_t> decode_all(std::string_view text);
bool is_ascii(std::string_view text);

// As the str methods of the same names answer for one character.
bool is_space(char32_t c);
bool is_alpha(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_title(char32_t c);  // category Lt
bool is_printable(char32_t c);
inline bool is_alnum(char32_t c) { return is_alpha(c) || is_decimal(c) || is_digit(c) || is_numeric(c); }
inline bool is_word(char32_t c) { return c == '_' || is_alnum(c); }  // \w of Python's re
bool is_identifier_start(char32_t c);
bool is_identifier_part(char32_t c);
int decimal_value(char32_t c);  // 0..9 for is_decimal, else -1

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string casefold(std::string_view text);
std::string title(std::string_view text);       // each run of cased letters
std::string capitalize(std::string_view text);  // the first letter, the rest in lower case
std::string swapcase(std::string_view text);

}  // namespace minfer::chat::jinja::unicode
