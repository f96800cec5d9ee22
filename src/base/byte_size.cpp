#include "base/byte_size.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>

#include "base/checked.h"

namespace minfer {

std::optional<uint64_t> parse_byte_size(std::string_view text) {
    uint64_t unit = 1;
    if (!text.empty()) {
        constexpr std::string_view kSuffixes = "KMGT";
        const size_t power = kSuffixes.find(char(std::toupper(static_cast<unsigned char>(text.back()))));
        if (power != std::string_view::npos) {
            unit = uint64_t(1) << (10 * (power + 1));
            text.remove_suffix(1);
        }
    }
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return checked_mul(number, unit);
}

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
