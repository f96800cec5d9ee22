// The x of a matmul in every form that its weights want: as floats, rounded to integers for one block size or both, and
// arranged for sets that take groups of tokens.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "backend/cpu/kernels.h"
#include "base/threads.h"

namespace minfer::cpu {

class RoundedActivations {
  public:
    // x [n_token][n_in]. Nothing is rounded before round().
    RoundedActivations(const Kernels& kernels, std::span<const float> x, size_t n_in);

    // What weights of a type want; `arranged`, where they are to be unpacked.
    void want(gguf::TensorType type, bool arranged);
    // Memory for all that is wanted, a multiple of 64 bytes.
    size_t bytes() const;
    // Rounds to `memory`, 64-aligned.
    void round(ThreadPool& pool, std::byte* memory);

    // Valid while x and the memory are.
    Activations of(gguf::TensorType type) const;

  private:
    // The integers of one block size; offsets in the memory.
    struct Integers {
        size_t block = 0;
        bool wanted = false;
        size_t arranged_bytes = 0;  // of a group of kTokenGroup tokens; 0 where they are not arranged
        size_t q = 0, d = 0, sums16 = 0, sums32 = 0, arranged = 0, end = 0;
    };
    void place(Integers& of, size_t at) const;
    QuantizedRow row(const Integers& of, size_t token) const;
    void round_token(size_t token) const;

    const Kernels& kernels_;
    std::span<const float> x_;
    size_t n_in_, n_token_;
    std::array<Integers, 2> integers_ = {Integers{.block = 32}, Integers{.block = 256}};
    std::byte* memory_ = nullptr;
};

}  // namespace minfer::cpu
