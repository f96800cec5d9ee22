// The data of one batch, as the leaves of a graph name it (InputKind).
#pragma once

#include <cstddef>
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

// What the values must stay below.
struct InputLimits {
    size_t n_vocab = 0;                   // token ids: rows of the embedding table
    size_t n_position = size_t(1) << 31;  // positions: any int32 that is not negative
    size_t n_cells = 0;                   // of the KV cache
};

// Throws ShapeError, naming input, value and bound, where the data do not fit. Backends rely on it. Reads every cell of
// the map once.
void check(const Inputs& inputs, const GraphParams& params, const InputLimits& limits);

}  // namespace minfer::graph
