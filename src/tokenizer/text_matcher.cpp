#include "tokenizer/text_matcher.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace minfer::tokenizer {

TextMatcher::TextMatcher(std::vector<Entry> entries) : entries_(std::move(entries)) {
    std::ranges::sort(entries_, {}, &Entry::text);  // string_view compares bytes as unsigned
    for (const Entry& entry : entries_) ++starting_with_[uint8_t(entry.text[0]) + 1u];
    for (size_t b = 0; b < 256; ++b) starting_with_[b + 1] += starting_with_[b];
}

std::optional<TextMatcher::Match> TextMatcher::longest_at(std::string_view text, size_t at) const {
    const uint8_t first = uint8_t(text[at]);
    auto begin = entries_.begin() + std::ptrdiff_t(starting_with_[first]);
    auto end = entries_.begin() + std::ptrdiff_t(starting_with_[first + 1u]);
    std::optional<Match> best;
    // [begin, end) are the entries whose first `depth` bytes are the text's; of these the shortest sorts first.
    for (size_t depth = 1; begin != end; ++depth) {
        if (begin->text.size() == depth) {
            best = Match{at, depth, begin->id};
            ++begin;
        }
        if (at + depth == text.size()) break;
        const auto byte_at_depth = [depth](const Entry& entry) { return uint8_t(entry.text[depth]); };
        const auto same = std::ranges::equal_range(begin, end, uint8_t(text[at + depth]), {}, byte_at_depth);
        begin = same.begin();
        end = same.end();
    }
    return best;
}

std::optional<TextMatcher::Match> TextMatcher::find(std::string_view text, size_t from) const {
    if (entries_.empty()) return std::nullopt;
    for (size_t at = from; at < text.size(); ++at) {
        const uint8_t first = uint8_t(text[at]);
        if (starting_with_[first] == starting_with_[first + 1u]) continue;
        if (const auto match = longest_at(text, at)) return match;
    }
    return std::nullopt;
}

}  // namespace minfer::tokenizer
