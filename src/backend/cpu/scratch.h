// Memory for the length of one call: activations as integers, panels of weights, tiles of attention. It grows to the
// largest call seen and then stays, so a decode step after the first allocates nothing.
#pragma once

#include <cstddef>
#include <span>

#include "base/pages.h"

namespace minfer::cpu {

class Scratch {
  public:
    static constexpr size_t kAlignment = 64;  // a cache line, and the widest vector
    static constexpr size_t aligned(size_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

    // At least `n` bytes at a multiple of kAlignment, with any content; valid until the next call.
    std::span<std::byte> take(size_t n);
    size_t capacity() const { return bytes_.size(); }

  private:
    Pages bytes_;
};

}  // namespace minfer::cpu
