// Writes keys or values into cells of the KV cache.
#pragma once

#include <cstdint>
#include <span>

namespace minfer::cpu {

// region[cells[t]] = x[t]. x [n_token][dim], region [n_cells][dim] of f32 cells, cells [n_token] of which none comes
// twice. Throws ShapeError where sizes do not fit or a cell is not in [0, n_cells).
void store_kv(std::span<const float> x, std::span<const int32_t> cells, std::span<float> region, size_t n_cells);

}  // namespace minfer::cpu
