// Floats to rows of a file's types, byte for byte what ggml_quantize_chunk of llama.cpp v0.5.0 writes, for each of the
// three families of builds (arithmetic.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "gguf/types.h"
#include "quant/arithmetic.h"
#include "quant/encoders.h"

namespace minfer::quant {

struct EncodeOptions {
    Arithmetic arithmetic = Arithmetic::x86_64;
    std::span<const float> importance = {};  // [row_length], >= 0, one for each column; empty for none
    // Where `src` is a part of a longer row, in whole blocks: the mean square of that row, if its type looks at it.
    std::optional<float> row_mean_square = {};
    const EncoderSet* set = nullptr;  // nullptr: the best for this CPU and environment
};

// True for F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K, IQ4_NL and IQ4_XS.
bool can_encode(gguf::TensorType type);

// Whether a block's bytes depend, with importance, on the mean square of its whole row; else on the block alone.
bool weighs_by_row(gguf::TensorType type);
// `sum` and the squares of a row's next values, as the arithmetic adds them up. The mean square of a row is this over
// all of it, from 0, divided by float(its length).
float add_squares(Arithmetic arithmetic, std::span<const float> values, float sum);

// Whether no value is NaN or infinite.
bool all_finite(std::span<const float> values);

// `src` [n_rows][row_length], finite; `dst` takes n_rows rows of `type`, at any alignment. F32, F16, BF16 and Q8_0 do
// not look at the importance. Deterministic and without threads of its own: rows may be split over calls at will.
// Throws ShapeError if row_length is no multiple of the type's block or a span is not of the size it should be,
// UnsupportedError for a type that can_encode refuses.
void encode_rows(gguf::TensorType type, std::span<const float> src, int64_t n_rows, int64_t row_length,
                 std::span<std::byte> dst, const EncodeOptions& options);

}  // namespace minfer::quant
