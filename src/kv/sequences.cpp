#include "kv/sequences.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace minfer::kv {

Sequences::Sequences(int32_t n_cell, int32_t n_sequence) : n_cell_(n_cell) {
    if (n_cell <= 0 || n_sequence <= 0)
        throw ShapeError(fmt::format("KV cache: found {} cells and {} sequences, expected at least one of each", n_cell,
                                     n_sequence));
    cells_.resize(size_t(n_sequence));
    n_holder_.resize(size_t(n_cell));
    for (int32_t cell = 0; cell < n_cell; ++cell) free_.push(cell);
}

void Sequences::check(SequenceId sequence) const {
    if (sequence < 0 || sequence >= n_sequence())
        throw ShapeError(
            fmt::format("KV cache: found sequence {}, expected one from 0 to {}", sequence, n_sequence() - 1));
}

void Sequences::check(SequenceId sequence, int32_t first, int32_t last) const {
    check(sequence);
    if (first < 0 || first > last || last > length(sequence))
        throw ShapeError(fmt::format("KV cache: found positions {} to {} of sequence {}, which holds {}", first, last,
                                     sequence, length(sequence)));
}

int32_t Sequences::take() {
    const int32_t cell = free_.top();
    free_.pop();
    n_holder_[size_t(cell)] = 1;
    return cell;
}

void Sequences::give_up(int32_t cell) {
    if (--n_holder_[size_t(cell)] == 0) free_.push(cell);
}

int32_t Sequences::length(SequenceId sequence) const {
    check(sequence);
    return int32_t(cells_[size_t(sequence)].size());
}

std::span<const int32_t> Sequences::cells(SequenceId sequence) const {
    check(sequence);
    return cells_[size_t(sequence)];
}

void Sequences::append(SequenceId sequence, int32_t n) {
    check(sequence);
    if (n < 0 || n > n_free())
        throw ShapeError(fmt::format("the context is full: {} more tokens, but {} of its {} cells are taken", n,
                                     n_cell_ - n_free(), n_cell_));
    std::vector<int32_t>& mine = cells_[size_t(sequence)];
    for (int32_t i = 0; i < n; ++i) mine.push_back(take());
}

void Sequences::truncate(SequenceId sequence, int32_t n) {
    check(sequence);
    std::vector<int32_t>& mine = cells_[size_t(sequence)];
    if (n < 0 || size_t(n) > mine.size())
        throw ShapeError(
            fmt::format("KV cache: sequence {} holds {} tokens, which cannot be cut to {}", sequence, mine.size(), n));
    for (size_t i = size_t(n); i < mine.size(); ++i) give_up(mine[i]);
    mine.resize(size_t(n));
}

void Sequences::clear() {
    for (SequenceId sequence = 0; sequence < n_sequence(); ++sequence) remove(sequence);
}

void Sequences::share(SequenceId from, SequenceId to, int32_t n) {
    check(from, 0, n);
    check(to);
    std::vector<int32_t>& theirs = cells_[size_t(to)];
    if (!theirs.empty())
        throw ShapeError(fmt::format(
            "KV cache: sequence {} holds {} tokens, and only an empty one can begin as another", to, theirs.size()));
    const std::vector<int32_t>& mine = cells_[size_t(from)];
    theirs.assign(mine.begin(), mine.begin() + n);
    for (const int32_t cell : theirs) ++n_holder_[size_t(cell)];
}

std::vector<CellMove> Sequences::make_own(SequenceId sequence, int32_t first, int32_t last) {
    check(sequence, first, last);
    const std::span<int32_t> wanted = std::span(cells_[size_t(sequence)]).subspan(size_t(first), size_t(last - first));
    const auto shared = [&](int32_t cell) { return n_holder_[size_t(cell)] > 1; };
    const auto n_shared = std::ranges::count_if(wanted, shared);
    if (n_shared > n_free())
        throw ShapeError(fmt::format("the context is full: {} cells to be copied, but {} of its {} cells are taken",
                                     n_shared, n_cell_ - n_free(), n_cell_));
    std::vector<CellMove> moves;
    for (int32_t& cell : wanted) {
        if (!shared(cell)) continue;
        --n_holder_[size_t(cell)];
        moves.push_back({cell, take()});
        cell = moves.back().to;
    }
    return moves;
}

void Sequences::erase(SequenceId sequence, int32_t first, int32_t last) {
    check(sequence, first, last);
    std::vector<int32_t>& mine = cells_[size_t(sequence)];
    for (int32_t i = first; i < last; ++i) give_up(mine[size_t(i)]);
    mine.erase(mine.begin() + first, mine.begin() + last);
}

std::vector<CellMove> Sequences::compact() {
    const int32_t n_held = n_cell_ - n_free();
    std::vector<CellMove> moves;
    std::vector<int32_t> moved_to(size_t(n_cell_), -1);
    for (int32_t cell = n_held; cell < n_cell_; ++cell) {
        if (n_holder_[size_t(cell)] == 0) continue;
        // As many cells are free below n_held as are held from there on, and the lowest come first.
        const int32_t to = free_.top();
        free_.pop();
        n_holder_[size_t(to)] = std::exchange(n_holder_[size_t(cell)], 0);
        moved_to[size_t(cell)] = to;
        moves.push_back({cell, to});
    }
    for (std::vector<int32_t>& cells : cells_)
        for (int32_t& cell : cells)
            if (moved_to[size_t(cell)] >= 0) cell = moved_to[size_t(cell)];
    for (const CellMove& move : moves) free_.push(move.from);
    return moves;
}

}  // namespace minfer::kv
