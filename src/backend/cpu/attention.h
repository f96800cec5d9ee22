// Causal attention of queries over cells of a KV cache, by tiles of 64 keys (Dao et al. 2022, for the merge).
// Rounding: docs/numerics.md, "Attention". A token's result depends on its query and on the keys and values it sees, in
// their order; not on the cells they lie in, the batch, the chunk or the threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/cpu/kv_cells.h"
#include "backend/cpu/scratch.h"
#include "base/threads.h"

namespace minfer::cpu {

struct Kernels;

// What one token sees: the first n_visible of its sequence's cells, which are listed in the sequence's own order. The
// token itself is among them. n_visible >= 1.
struct VisibleCells {
    std::span<const int32_t> cells;
    size_t n_visible = 0;
};

struct AttentionShape {
    size_t n_head = 0, n_head_kv = 0;  // query head h reads key head h / (n_head / n_head_kv)
    size_t head_dim = 0;
    float scale = 0;  // multiplies each query-key product; 1 / sqrt(head_dim) in all models so far
};

// q, out [n_token][n_head][head_dim], apart from each other; visible [n_token].
// Throws ShapeError if sizes do not fit, n_head_kv does not divide n_head, a token sees nothing or more than its list
// has, or a cell is not in [0, n_cell).
void attention(const Kernels& kernels, ThreadPool& pool, const AttentionShape& shape, std::span<const float> q,
               const KvCells& kv, std::span<const VisibleCells> visible, std::span<float> out, Scratch& scratch);

// The softmax of some keys, not yet divided: out = sum of exp(score - max) * v, sum = sum of exp(score - max).
struct TileResult {
    float max, sum;
};

// One query over the first n_key (1 .. 64) keys of a tile.
struct TileQuery {
    const float* q;  // [head_dim]
    size_t n_key;
    float* out;  // [head_dim]
    TileResult* result;
};

// Queries that share a key head over one of its tiles: k and v point to rows of head_dim floats, as many as the query
// that sees most needs. A set may compute scores from `across` where it is given, which is what its attention_across
// made of the same k: [head_dim][64], lane = key. The bits are the same.
void attention_tile_reference(const TileQuery* queries, size_t n_query, const float* const* k, const float* const* v,
                              const float* across, size_t head_dim, float scale);
// Merges the tile `next`, `next_out` into `total`, `out`, which are of the tiles before it.
void attention_merge_reference(TileResult* total, float* out, TileResult next, const float* next_out, size_t head_dim);
// out[i] = out[i] / sum.
void attention_finish_reference(float sum, float* out, size_t head_dim);

}  // namespace minfer::cpu
