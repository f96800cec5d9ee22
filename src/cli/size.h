// Sizes as people type them.
#pragma once

#include <cstdint>
#include <string>

namespace minfer::cli {

// "1000", "1K", "512M", "2G": bytes, with binary suffixes. Throws UsageError naming the option for anything else, for
// 0, and for what does not fit 64 bits.
uint64_t parse_size(const std::string& option, const std::string& text);

}  // namespace minfer::cli
