#include "backend/cpu/store_kv.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace minfer::cpu {

void store_kv(std::span<const float> x, std::span<const int32_t> cells, std::span<float> region, size_t n_cells) {
    if (cells.empty() || n_cells == 0 || x.size() % cells.size() != 0 ||
        x.size() / cells.size() * n_cells != region.size())
        throw ShapeError(
            fmt::format("store_kv: found {} values for {} tokens, expected rows of a region of {} values in {} cells",
                        x.size(), cells.size(), region.size(), n_cells));
    const size_t dim = x.size() / cells.size();
    for (size_t t = 0; t < cells.size(); ++t) {
        if (cells[t] < 0 || size_t(cells[t]) >= n_cells)
            throw ShapeError(
                fmt::format("store_kv: token {} goes to cell {}, expected 0 to {}", t, cells[t], n_cells - 1));
        std::ranges::copy(x.subspan(t * dim, dim), region.begin() + int64_t(size_t(cells[t]) * dim));
    }
}

}  // namespace minfer::cpu
