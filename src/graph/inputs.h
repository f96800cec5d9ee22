// The data of one batch, as the leaves of a graph name it (InputKind).
#pragma once

#include <cstdint>
#include <span>

#include "graph/graph.h"
#include "kv/attention_map.h"

namespace minfer::graph {

// All borrowed for one run.
struct Inputs {
    std::span<const int32_t> token_ids;    // [n_token]
    std::span<const int32_t> positions;    // [n_token]
    std::span<const int32_t> kv_cells;     // [n_token], no cell twice
    kv::AttentionMap attention_map;        // of n_token tokens
    std::span<const int32_t> output_rows;  // [n_output_rows], each below n_token

    // The input of that kind; not CellMap, which is `attention_map`.
    std::span<const int32_t> of(InputKind kind) const;
};

// Throws ShapeError, naming input, value and bound, where the data do not fit the parameters, the number of rows of the
// embedding table or the number of cells. A backend relies on it.
void check(const Inputs& inputs, const GraphParams& params, size_t n_vocab, size_t n_cells);

}  // namespace minfer::graph
