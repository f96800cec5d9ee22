// The rotation of q8_0 cells: each block of 32 values by the Walsh-Hadamard matrix of order 32, so that a value far out
// of line, as keys of some models have, costs all of its block a little and no longer most of it everything. A query
// that is turned alike has the same products with turned keys, and what comes of turned values is turned back at the
// end (QuaRot, Ashkboos et al. 2024). docs/numerics.md, "KV cells".
#pragma once

#include <cstddef>

namespace minfer::cpu {

inline constexpr size_t kRotation = 32;
// The matrix has +-1 alone, and its square is 32 times the identity: these two make up for it, and rounding does not
// know of them. The first keeps a value's size about as it was.
inline constexpr float kCellScale = 0.25f;    // of what goes into a cell
inline constexpr float kQueryScale = 0.125f;  // of queries, and of what attention gives

// out = H x scale, block by block. x and out [n], n whole blocks; out is x itself or apart from it.
void rotate(const float* x, float* out, size_t n, float scale);

}  // namespace minfer::cpu
