// Where a text stands in another, in time that is linear in both however a hostile template chose them: the library's
// searches take the product of the two lengths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace minfer::chat::jinja {

class Searcher {
  public:
    enum class From { Left, Right };
    // Borrows `wanted`. One from the right finds last places.
    explicit Searcher(std::string_view wanted, From from = From::Left);

    // Where the first (the last) place begins that lies whole within text[begin, end), or npos.
    size_t find(std::string_view text, size_t begin = 0) const { return find(text, begin, text.size()); }
    size_t find(std::string_view text, size_t begin, size_t end) const;

  private:
    bool is_short() const { return wanted_.size() <= kShort; }

    static constexpr size_t kShort = 32;  // for these the library's search is the faster one, and bounded well enough

    std::string_view wanted_;
    From from_;
    // Knuth, Morris and Pratt: of each start of `wanted` (from the right: each end), the longest shorter one that it
    // ends with. Empty for short ones.
    std::vector<uint32_t> border_;
};

}  // namespace minfer::chat::jinja
