// Which cells of the cache each sequence holds, in the sequence's own order.
//
// A cell is a slot for the key and value of one token, the same index in every layer. A sequence's positions 0, 1, 2
// ... may lie in any cells: attention reads them in the sequence's order (docs/numerics.md), so a cell's number never
// changes a bit. What is in the cells is the backend's; this class only keeps the books.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <vector>

namespace minfer::kv {

using SequenceId = int32_t;

class Sequences {
  public:
    // Sequences 0 to n_sequence - 1, all empty, over n_cell cells. Throws ShapeError unless both are positive.
    Sequences(int32_t n_cell, int32_t n_sequence);

    int32_t n_cell() const { return n_cell_; }
    int32_t n_sequence() const { return int32_t(cells_.size()); }
    int32_t n_free() const { return int32_t(free_.size()); }

    // Tokens that the sequence holds; its next token has this position.
    int32_t length(SequenceId sequence) const;

    // The cell of each position, [length]. Valid until the sequence changes.
    std::span<const int32_t> cells(SequenceId sequence) const;

    // Takes `n` free cells, lowest first, for the sequence's next positions. Throws ShapeError, changing nothing, when
    // fewer are free.
    void append(SequenceId sequence, int32_t n);

    // Keeps the first `n` positions and frees the cells of the others. Throws ShapeError when it holds fewer.
    void truncate(SequenceId sequence, int32_t n);

    // Frees all cells of one sequence, or of all.
    void remove(SequenceId sequence) { truncate(sequence, 0); }
    void clear();

  private:
    void check(SequenceId sequence) const;

    int32_t n_cell_;
    std::vector<std::vector<int32_t>> cells_;
    std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> free_;  // the lowest on top
};

}  // namespace minfer::kv
