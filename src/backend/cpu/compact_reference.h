// The definition of compact.h as code: sixteen rows into a panel and back, one value at a time.
#pragma once

#include <cstddef>

#include "backend/cpu/kernels.h"

namespace minfer::cpu {

// kernels.h's MatmulKernels::repack.
void repack_reference(gguf::TensorType type, const std::byte* rows, size_t row_bytes, size_t n_in, std::byte* panel);

// Block `block` of row `row` (0 .. 15) as it was in the file: gguf::type_size(type) bytes. With the float types a block
// is a value.
void read_compact_block(gguf::TensorType type, const std::byte* panel, size_t block, size_t row, std::byte* out);

template <gguf::TensorType type>
void matmul_repack_reference(const std::byte* rows, size_t row_bytes, size_t n_in, std::byte* panel) {
    repack_reference(type, rows, row_bytes, n_in, panel);
}

}  // namespace minfer::cpu
