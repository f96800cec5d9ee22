// Which cells of the cache each sequence holds, in the sequence's own order.
//
// A cell is a slot for the key and value of one token, the same index in every layer. A sequence's positions 0, 1, 2
// ... may lie in any cells: attention reads them in the sequence's order (docs/numerics.md), so a cell's number never
// changes a bit. Sequences that begin alike may share cells: what is in a cell is written once, when its token is run,
// and is copied before anything else would change it. What is in the cells is the backend's; this class only keeps the
// books, and tells what must be copied where.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <vector>

#include "kv/layout.h"

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

    // Keeps the first `n` positions and gives the cells of the others up. Throws ShapeError when it holds fewer.
    void truncate(SequenceId sequence, int32_t n);

    // Gives all cells of one sequence up, or of all. A cell is free when no sequence holds it.
    void remove(SequenceId sequence) { truncate(sequence, 0); }
    void clear();

    // Lets `to`, which is empty, begin with the first `n` positions of `from`, in the same cells. Throws ShapeError,
    // changing nothing, where `to` is not empty or `from` holds fewer.
    void share(SequenceId from, SequenceId to, int32_t n);

    // Copy on write: gives the positions [first, last) cells that no other sequence holds, taking free ones for those
    // that are shared. The caller copies what they hold. Throws ShapeError, changing nothing, for positions that there
    // are not, and where fewer cells are free.
    std::vector<CellMove> make_own(SequenceId sequence, int32_t first, int32_t last);

    // Takes the positions [first, last) out; those after them move up. Throws ShapeError for positions that there are
    // not.
    void erase(SequenceId sequence, int32_t first, int32_t last);

    // Moves the cells that are held to the lowest numbers. The caller copies what they hold; no move's target is
    // another's source.
    std::vector<CellMove> compact();

  private:
    void check(SequenceId sequence) const;
    void check(SequenceId sequence, int32_t first, int32_t last) const;
    int32_t take();
    void give_up(int32_t cell);

    int32_t n_cell_;
    std::vector<std::vector<int32_t>> cells_;
    std::vector<int32_t> n_holder_;                                            // by cell: how many sequences hold it
    std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> free_;  // the lowest on top
};

}  // namespace minfer::kv
