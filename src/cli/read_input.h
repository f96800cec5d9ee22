// Input that a command reads whole.
#pragma once

#include <string>

namespace minfer::cli {

// All of a file, which may be a pipe, or of standard input. Throws IoError.
std::string read_whole_file(const std::string& path);
std::string read_standard_input();

}  // namespace minfer::cli
