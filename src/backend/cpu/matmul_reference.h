// The definition of matmul, one output at a time.
#pragma once

#include <cstddef>

#include "backend/cpu/kernels.h"

namespace minfer::cpu {

// One row of `type`'s blocks (any alignment) times token `token` of x.
float dot_reference(gguf::TensorType type, const std::byte* row, const Activations& x, size_t token);

// The same from row `row` (0 .. 15) of a compact panel.
float dot_compact_reference(gguf::TensorType type, const std::byte* panel, size_t row, const Activations& x,
                            size_t token);

// kernels.h's MatmulKernels::rows and ::compact.
template <gguf::TensorType type>
void matmul_rows_reference(const std::byte* rows, size_t row_bytes, const Activations& x, size_t token, float* out) {
    for (size_t r = 0; r < kPanelRows; ++r) out[r] = dot_reference(type, rows + r * row_bytes, x, token);
}
template <gguf::TensorType type>
void matmul_compact_reference(const std::byte* panel, const Activations& x, size_t token, size_t n_token, float* out,
                              size_t out_stride) {
    for (size_t t = 0; t < n_token; ++t)
        for (size_t r = 0; r < kPanelRows; ++r)
            out[t * out_stride + r] = dot_compact_reference(type, panel, r, x, token + t);
}

}  // namespace minfer::cpu
