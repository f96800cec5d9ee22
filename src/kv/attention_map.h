// Which cells each token of a batch attends to: the link between sequences, which are lists of cells, and the attention
// operator, which knows only cells.
#pragma once

#include <cstdint>
#include <span>

namespace minfer::kv {

// Lists of cells laid end to end; tokens of one sequence share one list. Token t sees, in this order, the cells
//   cells[offsets[t]], cells[offsets[t] + 1], ..., n_visible[t] of them.
// The order is the sequence's own, oldest token first, and so are the tiles that attention counts; the numbers of the
// cells have no meaning. With causal attention n_visible is the token's position + 1, its own cell included. All is
// borrowed.
struct AttentionMap {
    std::span<const int32_t> offsets;    // [n_token] into `cells`
    std::span<const int32_t> n_visible;  // [n_token], each at least 1
    std::span<const int32_t> cells;

    std::span<const int32_t> visible(size_t token) const {
        return cells.subspan(size_t(offsets[token]), size_t(n_visible[token]));
    }
};

}  // namespace minfer::kv
