// Quantized rows back to floats.
//
// Canonical decoding (docs/numerics.md, "Decoding"): every product and sum rounded on its own, in this order; the bits
// are those of llama.cpp's dequantize_row_* built for x86-64.
//   Q4_0, Q5_0, Q8_0, IQ4_NL   q * d                        Q4_1, Q5_1        q * d + m
//   Q3_K, Q6_K, IQ4_XS         (d * s) * q                  Q2_K, Q4_K, Q5_K  (d * s) * q - dmin * m
// The Arm builds decode to the same bits although they fuse: a product that has a sum to go to fits in a float (11 bits
// of d, at most 6 of s and 5 of q), so there is no rounding that fusing could leave out.
#pragma once

#include <cstddef>
#include <span>

#include "gguf/types.h"

namespace minfer::quant {

// True for F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K, IQ4_NL and IQ4_XS.
bool can_decode(gguf::TensorType type);

// `row` holds whole blocks of `type`, in a file's bytes, at any alignment; `out` takes all their values. Throws
// ShapeError if the sizes do not agree, UnsupportedError for a type that can_decode refuses.
void decode_row(gguf::TensorType type, std::span<const std::byte> row, std::span<float> out);

}  // namespace minfer::quant
