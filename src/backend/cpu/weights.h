// A weight matrix as a GGUF file holds it, and perhaps once more as the kernels like it best.
#pragma once

#include <cstddef>

#include "gguf/types.h"

namespace minfer::cpu {

// [n_out][n_in] in `type`'s blocks; row r starts at data + r * row_bytes. Borrowed; any alignment.
// n_in is a multiple of the type's block.
struct Weights {
    gguf::TensorType type = gguf::TensorType::F32;
    size_t n_in = 0, n_out = 0;
    size_t row_bytes = 0;
    const std::byte* data = nullptr;
    // The first n_out / 16 * 16 rows as compact panels (compact.h), compact_bytes() each, one after the other; or null.
    // Borrowed; 64-aligned.
    const std::byte* panels = nullptr;
};

// The types the CPU multiplies by: F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K, IQ4_NL, IQ4_XS.
bool supports_weights(gguf::TensorType type);

}  // namespace minfer::cpu
