// Sums: the residual stream and biases. One rounding an element.
#pragma once

#include <span>

#include "backend/cpu/kernels.h"
#include "base/threads.h"

namespace minfer::cpu {

// out[i] = a[i] + b[i]; all of one size; out may be a or b. Throws ShapeError otherwise.
void add(const Kernels& kernels, ThreadPool& pool, std::span<const float> a, std::span<const float> b,
         std::span<float> out);

// out[t][i] = x[t][i] + bias[i]; x, out [n_token][dim], bias [dim]; out may be x. Throws ShapeError if bias is empty or
// does not divide x, or out is not of x's size.
void add_bias(const Kernels& kernels, ThreadPool& pool, std::span<const float> x, std::span<const float> bias,
              std::span<float> out);

void add_row_reference(const float* a, const float* b, float* out, size_t n);

}  // namespace minfer::cpu
