// Faults that a tensor's bytes can show without another copy to compare with: numbers that are NaN or infinite, in
// plain float tensors the values and in quantized ones the scales of the blocks. Integer types have none, and NVFP4's
// scales are finite whatever their bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "gguf/types.h"

namespace minfer::gguf {

// Whether the type's numbers are floats themselves (F32, F16, BF16, F64), and not the scales of blocks.
bool is_float(TensorType type);

struct NonFinite {
    size_t index;           // of the value, or of the block's first value, counted from the start of the bytes
    std::string_view what;  // "NaN", "infinity", "a NaN scale", "an infinite scale"
};

// The first of them in `bytes`, whole blocks of `type`.
std::optional<NonFinite> find_non_finite(TensorType type, std::span<const std::byte> bytes);

struct BlockFindings {
    uint64_t n_nan = 0, n_infinite = 0;  // values of a float tensor, or scales of blocks
    std::optional<uint64_t> first_nan;   // the value's or the block's number in the tensor
    std::optional<uint64_t> first_infinite;
};

// Counts all of them, for tools that report.
class BlockChecker {
  public:
    explicit BlockChecker(TensorType type) : type_(type) {}

    // Takes the tensor's next bytes; whole blocks.
    void check(std::span<const std::byte> blocks);
    const BlockFindings& findings() const { return findings_; }

  private:
    TensorType type_;
    BlockFindings findings_;
    uint64_t n_blocks_ = 0;  // seen before
};

}  // namespace minfer::gguf
