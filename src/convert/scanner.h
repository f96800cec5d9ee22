// Walks a text from its start, for grammars too small for a library: what a name's parts look like, which YAML scalars
// are strings. Each step takes what it names and says whether it was there; what takes nothing leaves the text as it
// was.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace minfer::convert {

class Scanner {
  public:
    explicit Scanner(std::string_view text) : rest_(text) {}

    bool at_end() const { return rest_.empty(); }
    std::string_view rest() const { return rest_; }

    // One character of `set`.
    bool one(std::string_view set) { return !rest_.empty() && set.find(rest_[0]) != set.npos && skip(1); }
    // As many of `set` as there are; whether there was any.
    bool run(std::string_view set) { return skip(std::min(rest_.find_first_not_of(set), rest_.size())); }
    bool digits() { return run("0123456789"); }
    // From `min` to `max` digits, as many as there are.
    bool digits(size_t min, size_t max) {
        const size_t n = std::min({rest_.find_first_not_of("0123456789"), rest_.size(), max});
        return n >= min && skip(n);
    }
    bool word(std::string_view text) { return rest_.starts_with(text) && skip(text.size()); }

  private:
    bool skip(size_t n) {
        rest_.remove_prefix(n);
        return n > 0;
    }

    std::string_view rest_;
};

}  // namespace minfer::convert
