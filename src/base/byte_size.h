// Sizes in bytes as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace minfer {

// "512 B", "1.5 KiB", "93.8 MiB".
std::string format_byte_size(uint64_t bytes);

}  // namespace minfer
