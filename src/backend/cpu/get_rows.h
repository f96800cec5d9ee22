// Rows of a matrix by number, decoded to floats: token embeddings, or the activations of chosen tokens.
#pragma once

#include <cstdint>
#include <span>

#include "backend/cpu/weights.h"
#include "base/threads.h"

namespace minfer::cpu {

// out [n_id][n_in]: row ids[i] of `table`, decoded as docs/numerics.md, "Decoding", says; the same on any CPU.
// Throws ShapeError if an id is not in [0, n_out) or out is not n_id * n_in long, UnsupportedError for a type that
// supports_weights() refuses.
void get_rows(ThreadPool& pool, const Weights& table, std::span<const int32_t> ids, std::span<float> out);

}  // namespace minfer::cpu
