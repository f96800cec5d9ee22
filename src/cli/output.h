// Text that goes out whole, or is an error.
#pragma once

#include <string>
#include <string_view>

namespace minfer::cli {

// To standard output, at once. Throws IoError.
void write_out(std::string_view text);

// As a file that appears, or is replaced, when all of it is on the disk. Throws IoError.
void write_file(const std::string& path, std::string_view text);

}  // namespace minfer::cli
