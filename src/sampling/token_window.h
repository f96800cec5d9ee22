// The last tokens of a text, in memory that is taken once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace minfer::sampling {

class TokenWindow {
  public:
    explicit TokenWindow(size_t capacity) : capacity_(capacity) {}

    size_t size() const { return tokens_.size(); }
    bool full() const { return tokens_.size() == capacity_; }
    int32_t oldest() const { return tokens_[full() ? next_ : 0]; }

    // The i-th token from the end; 0 is the last.
    int32_t back(size_t i) const { return tokens_[(next_ + tokens_.size() - 1 - i) % tokens_.size()]; }

    // Needs a capacity of at least 1; the oldest token leaves a full window.
    void push(int32_t token) {
        if (full())
            tokens_[next_] = token;
        else
            tokens_.push_back(token);
        next_ = (next_ + 1) % capacity_;
    }

  private:
    size_t capacity_;
    size_t next_ = 0;  // where the next token goes
    std::vector<int32_t> tokens_;
};

}  // namespace minfer::sampling
