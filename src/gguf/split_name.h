// The names of the files of a model in several parts, PREFIX-NNNNN-of-MMMMM.gguf with NNNNN from 00001, and the
// metadata keys that say the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace minfer::gguf {

constexpr std::string_view kSplitNoKey = "split.no";                       // from 0
constexpr std::string_view kSplitCountKey = "split.count";                 // parts
constexpr std::string_view kSplitTensorsCountKey = "split.tensors.count";  // of all parts

constexpr bool is_split_key(std::string_view key) {
    return key == kSplitNoKey || key == kSplitCountKey || key == kSplitTensorsCountKey;
}

struct SplitName {
    std::string prefix;  // with its folder
    uint32_t index = 0;  // from 0
    uint32_t count = 0;
};

// Nothing where `path` does not end like a part's name.
std::optional<SplitName> parse_split_name(std::string_view path);
std::string split_name(std::string_view prefix, uint32_t index, uint32_t count);

}  // namespace minfer::gguf
