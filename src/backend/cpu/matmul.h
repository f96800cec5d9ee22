// out = x * W^T, for weights of any type, as GGUF lays them out or as compact panels. Rounding: docs/numerics.md,
// "Matrix multiplication": one chain of fma an output, in ascending order, so the bits depend on neither kernels,
// threads nor the batch.
#pragma once

#include <span>

#include "backend/cpu/kernels.h"
#include "backend/cpu/scratch.h"
#include "backend/cpu/weights.h"
#include "base/threads.h"

namespace minfer::cpu {

// x [n_token][n_in], out [n_token][n_out], apart from each other. n_token may be 0.
// Throws ShapeError, naming the sizes, where they do not fit, and UnsupportedError for a type that supports_weights()
// refuses.
void matmul(const Kernels& kernels, ThreadPool& pool, const Weights& weights, std::span<const float> x,
            std::span<float> out, Scratch& scratch);

struct MatmulTarget {
    Weights weights;
    std::span<float> out;  // [n_token][n_out]
};

// The same bits as matmul() for each target in turn, with x rounded to integers once and one parallel region: Q, K and
// V. All targets have one n_in; their types may differ. At most kMaxTargets.
inline constexpr size_t kMaxTargets = 4;
void matmul_shared(const Kernels& kernels, ThreadPool& pool, std::span<const MatmulTarget> targets,
                   std::span<const float> x, Scratch& scratch);

// out [n_token][n_out] = silu(x gate^T) * (x up^T), with the bits of two matmul() and swiglu(). A thread takes the
// product of what it has just computed, so the two factors, each as large as `out`, are never in memory. The types may
// differ.
void matmul_swiglu(const Kernels& kernels, ThreadPool& pool, const Weights& gate, const Weights& up,
                   std::span<const float> x, std::span<float> out, Scratch& scratch);

}  // namespace minfer::cpu
