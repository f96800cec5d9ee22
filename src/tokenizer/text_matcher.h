// Finds a fixed set of strings in text, the longest at each place, leftmost first: the special tokens of a prompt.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "tokenizer/vocabulary.h"

namespace minfer::tokenizer {

class TextMatcher {
  public:
    struct Entry {
        std::string_view text;  // borrowed for the matcher's life; not empty, no two the same
        TokenId id;
    };
    struct Match {
        size_t begin, length;
        TokenId id;
    };

    TextMatcher() = default;
    explicit TextMatcher(std::vector<Entry> entries);

    // The first match that starts at `from` or later. The cost of a place is that of the bytes that agree there with
    // some entry, however many entries there are.
    std::optional<Match> find(std::string_view text, size_t from) const;

  private:
    std::optional<Match> longest_at(std::string_view text, size_t at) const;

    // In order of their bytes, so those that share a prefix are neighbours: a trie without nodes.
    std::vector<Entry> entries_;
    std::array<size_t, 257> starting_with_ = {};  // entries_[starting_with_[b]] is the first that starts with b or more
};

}  // namespace minfer::tokenizer
