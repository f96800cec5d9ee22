// The gate of a SwiGLU feed-forward (Shazeer 2020): silu(gate) * up, where silu(x) = x / (1 + exp(-x)). Element by
// element; all spans of one size, and out may be an input. docs/numerics.md, "SiLU".
// All throw ShapeError, naming the operator and the sizes, where sizes differ.
#pragma once

#include <span>

#include "backend/cpu/kernels.h"
#include "base/threads.h"

namespace minfer::cpu {

void silu(const Kernels& kernels, ThreadPool& pool, std::span<const float> x, std::span<float> out);
void mul(const Kernels& kernels, ThreadPool& pool, std::span<const float> a, std::span<const float> b,
         std::span<float> out);
// mul(silu(gate), up), bit for bit.
void swiglu(const Kernels& kernels, ThreadPool& pool, std::span<const float> gate, std::span<const float> up,
            std::span<float> out);

void silu_row_reference(const float* x, float* out, size_t n);
void mul_row_reference(const float* a, const float* b, float* out, size_t n);
void swiglu_row_reference(const float* gate, const float* up, float* out, size_t n);

}  // namespace minfer::cpu
