// The definition of matmul, one output at a time.
#pragma once

#include <cstddef>

#include "backend/cpu/kernels.h"

namespace minfer::cpu {

// One row of `type`'s blocks (any alignment) times token `token` of x.
float dot_reference(gguf::TensorType type, const std::byte* row, const Activations& x, size_t token);

// kernels.h's MatmulKernels::rows.
template <gguf::TensorType type>
void matmul_rows_reference(const std::byte* rows, size_t row_bytes, const Activations& x, size_t token, float* out) {
    for (size_t r = 0; r < kPanelRows; ++r) out[r] = dot_reference(type, rows + r * row_bytes, x, token);
}

}  // namespace minfer::cpu
