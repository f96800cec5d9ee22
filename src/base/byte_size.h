// Sizes in bytes as people write and read them, with binary suffixes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace minfer {

// "512" bytes, "1K", "512M", "2G", "1T" (powers of 1024, in either case of letters); nothing for any other text, or
// where 64 bits do not hold it.
std::optional<uint64_t> parse_byte_size(std::string_view text);

// "512 B", "1.5 KiB", "93.8 MiB".
std::string format_byte_size(uint64_t bytes);

}  // namespace minfer
