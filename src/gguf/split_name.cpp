#include "gguf/split_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace minfer::gguf {
namespace {

constexpr size_t kDigits = 5;

std::optional<uint32_t> number(std::string_view digits) {
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return value;
}

}  // namespace

std::optional<SplitName> parse_split_name(std::string_view path) {
    constexpr std::string_view kOf = "-of-", kEnding = ".gguf";
    constexpr size_t kTail = 1 + kDigits + kOf.size() + kDigits + kEnding.size();
    if (path.size() <= kTail) return std::nullopt;
    const std::string_view prefix = path.substr(0, path.size() - kTail), tail = path.substr(prefix.size());
    if (prefix.ends_with('/') || tail[0] != '-' || tail.substr(1 + kDigits, kOf.size()) != kOf ||
        !tail.ends_with(kEnding))
        return std::nullopt;
    const auto position = number(tail.substr(1, kDigits));
    const auto count = number(tail.substr(1 + kDigits + kOf.size(), kDigits));
    if (!position || !count || *position == 0 || *position > *count) return std::nullopt;
    return SplitName{std::string(prefix), *position - 1, *count};
}

std::string split_name(std::string_view prefix, uint32_t index, uint32_t count) {
    return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, index + 1, count);
}

}  // namespace minfer::gguf
