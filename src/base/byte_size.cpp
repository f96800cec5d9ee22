#include "base/byte_size.h"

#include <fmt/format.h>

#include <iterator>

namespace minfer {

std::string format_byte_size(uint64_t bytes) {
    if (bytes < 1024) return fmt::format("{} B", bytes);
    constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = double(bytes) / 1024;
    size_t unit = 0;
    while (value >= 1023.95 && unit + 1 < std::size(kUnits)) {  // what would be printed as 1024.0 takes the next unit
        value /= 1024;
        ++unit;
    }
    return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace minfer
