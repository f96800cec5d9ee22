// A check for options of CLI11: a variable of a script that nothing was put into is no value.
#pragma once

#include <string>

namespace minfer::cli {

inline std::string not_empty(const std::string& text) {
    return text.empty() ? "found an empty text, expected some characters" : "";
}

}  // namespace minfer::cli
