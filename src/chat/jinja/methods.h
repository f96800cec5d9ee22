// The methods of Python's types.
#pragma once

#include <string_view>

#include "chat/jinja/value.h"

namespace minfer::chat::jinja {

using Method = Value (*)(Interpreter& interpreter, const Value& self, const Arguments& arguments);

struct NamedMethod {
    std::string_view name;
    Method method;
};

Method find_text_method(std::string_view name);                // of str
Method find_split_method(std::string_view name);               // of str: what splits, strips, pads and searches
Method find_method(const Value& self, std::string_view name);  // of any other type

// str.splitlines, and str.split() at white space, for filters too.
std::vector<std::string> split_lines(std::string_view text, bool keep_ends);
std::vector<std::string> split_words(std::string_view text);
// str.strip: `chars` none for white space; `left`, `right` say which ends.
std::string strip(std::string_view text, const Value& chars, bool left, bool right);
std::string replace(std::string_view text, std::string_view from, std::string_view to, int64_t count);
std::string center(const Str& text, int64_t width, const std::string& fill);
bool is_lower_text(std::string_view text);  // str.islower
bool is_upper_text(std::string_view text);

}  // namespace minfer::chat::jinja
