#include "cli/size.h"

#include <fmt/format.h>

#include <charconv>

#include "base/checked.h"
#include "base/error.h"

namespace minfer::cli {

uint64_t parse_size(const std::string& option, const std::string& text) {
    uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    uint64_t unit = 1;
    if (rest + 1 == end) unit = *rest == 'K' ? 1u << 10 : *rest == 'M' ? 1u << 20 : *rest == 'G' ? 1u << 30 : 0;
    const auto bytes = checked_mul(number, unit);
    if (error != std::errc() || end - rest > 1 || !bytes || *bytes == 0)
        throw UsageError(fmt::format("{}: found '{}', expected bytes, above 0, as 1000, 1K, 512M or 2G", option, text));
    return *bytes;
}

}  // namespace minfer::cli
