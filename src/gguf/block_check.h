// Faults that a tensor's bytes can show without another copy to compare with: numbers that are NaN or infinite, in
// plain float tensors the values and in quantized ones the scales of the blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "gguf/types.h"

namespace minfer::gguf {

struct BlockFindings {
    uint64_t n_nan = 0, n_infinite = 0;  // values of a float tensor, or scales of blocks
    std::optional<uint64_t> first_nan;   // the value's or the block's number in the tensor
    std::optional<uint64_t> first_infinite;
};

class BlockChecker {
  public:
    explicit BlockChecker(TensorType type) : type_(type) {}

    // Takes the tensor's next bytes; whole blocks.
    void check(std::span<const std::byte> blocks);
    const BlockFindings& findings() const { return findings_; }

  private:
    void note(float value, uint64_t block);

    TensorType type_;
    BlockFindings findings_;
    uint64_t n_blocks_ = 0;  // seen before
};

// Whether the type's numbers are floats themselves (F32, F16, BF16, F64), and not the scales of blocks.
bool is_float(TensorType type);

}  // namespace minfer::gguf
