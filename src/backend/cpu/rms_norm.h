// RMS norm of each row: out = x / sqrt(mean(x^2) + eps) * weight. Zhang & Sennrich 2019, without a bias.
//   x, out  [n_row][dim] f32, row-major; out is x itself or apart from it. A row is a token, or a head of a token
//           (Q/K norms of qwen3).
//   weight  [dim] f32.   eps  > 0, as the model file gives it; no unit, added to the mean of squares.
// Rounding: docs/numerics.md, "Reductions inside a row". The same bits with any kernels and any pool.
#pragma once

#include <span>

#include "backend/cpu/kernels.h"
#include "base/threads.h"

namespace minfer::cpu {

// Throws ShapeError, naming operator and sizes, if weight is empty or does not divide x, or out is not of x's size.
void rms_norm(const Kernels& kernels, ThreadPool& pool, std::span<const float> x, std::span<const float> weight,
              float eps, std::span<float> out);

void rms_norm_row_reference(const float* x, const float* weight, float eps, float* out, size_t dim);

}  // namespace minfer::cpu
