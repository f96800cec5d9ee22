// Values to JSON, as Python's json.dumps writes it.
#pragma once

#include <string>

#include "chat/jinja/value.h"

namespace minfer::chat::jinja {

struct JsonStyle {
    bool ensure_ascii = false;
    bool indents = false;
    std::string indent;  // for each level
    std::string item_separator = ", ", key_separator = ": ";
    bool sort_keys = false;
};

// TypeError for what JSON cannot hold.
std::string to_json(const Value& value, const JsonStyle& style);
std::string json_text(std::string_view text, bool ensure_ascii);  // with its quotes

}  // namespace minfer::chat::jinja
