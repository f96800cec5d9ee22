#include "graph/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace minfer::graph {
namespace {

void check_size(std::string_view name, size_t found, size_t expected) {
    if (found != expected)
        throw ShapeError(fmt::format("input {}: found {} values, expected {}", name, found, expected));
}

void check_values(std::string_view name, std::span<const int32_t> values, size_t bound) {
    for (size_t i = 0; i < values.size(); ++i)
        if (values[i] < 0 || size_t(values[i]) >= bound)
            throw ShapeError(
                fmt::format("input {}: value {} is {}, expected 0 to below {}", name, i, values[i], bound));
}

void check_map(const kv::AttentionMap& map, size_t n_token, size_t n_cells) {
    check_size("cell_map offsets", map.offsets.size(), n_token);
    check_size("cell_map n_visible", map.n_visible.size(), n_token);
    for (size_t t = 0; t < n_token; ++t) {
        const int64_t offset = map.offsets[t], n_visible = map.n_visible[t];
        if (offset < 0 || n_visible < 1 || offset + n_visible > int64_t(map.cells.size()))
            throw ShapeError(fmt::format(
                "input cell_map: token {} sees {} cells from {} on, expected at least 1 within a list of {}", t,
                n_visible, offset, map.cells.size()));
    }
    check_values("cell_map cells", map.cells, n_cells);
}

}  // namespace

std::span<const int32_t> Inputs::of(InputKind kind) const {
    switch (kind) {
        case InputKind::TokenIds:
            return token_ids;
        case InputKind::Positions:
            return positions;
        case InputKind::KvCells:
            return kv_cells;
        case InputKind::OutputRows:
            return output_rows;
        case InputKind::CellMap:
            break;
    }
    throw UnsupportedError("input cell_map: its lists are Inputs::attention_map");
}

void check(const Inputs& inputs, const GraphParams& params, const InputLimits& limits) {
    check_size("token_ids", inputs.token_ids.size(), params.n_token);
    check_size("positions", inputs.positions.size(), params.n_token);
    check_size("kv_cells", inputs.kv_cells.size(), params.n_token);
    check_size("output_rows", inputs.output_rows.size(), params.n_output_rows);
    check_values("token_ids", inputs.token_ids, limits.n_vocab);
    check_values("positions", inputs.positions, limits.n_position);
    check_values("kv_cells", inputs.kv_cells, limits.n_cells);
    check_values("output_rows", inputs.output_rows, params.n_token);
    check_map(inputs.attention_map, params.n_token, limits.n_cells);
}

}  // namespace minfer::graph
