#include "kv/sequences.h"

#include <fmt/format.h>

#include "base/error.h"

namespace minfer::kv {

Sequences::Sequences(int32_t n_cell, int32_t n_sequence) : n_cell_(n_cell) {
    if (n_cell <= 0 || n_sequence <= 0)
        throw ShapeError(fmt::format("KV cache: found {} cells and {} sequences, expected at least one of each", n_cell,
                                     n_sequence));
    cells_.resize(size_t(n_sequence));
    for (int32_t cell = 0; cell < n_cell; ++cell) free_.push(cell);
}

void Sequences::check(SequenceId sequence) const {
    if (sequence < 0 || sequence >= n_sequence())
        throw ShapeError(
            fmt::format("KV cache: found sequence {}, expected one from 0 to {}", sequence, n_sequence() - 1));
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
    for (int32_t i = 0; i < n; ++i) {
        mine.push_back(free_.top());
        free_.pop();
    }
}

void Sequences::truncate(SequenceId sequence, int32_t n) {
    check(sequence);
    std::vector<int32_t>& mine = cells_[size_t(sequence)];
    if (n < 0 || size_t(n) > mine.size())
        throw ShapeError(
            fmt::format("KV cache: sequence {} holds {} tokens, which cannot be cut to {}", sequence, mine.size(), n));
    for (size_t i = size_t(n); i < mine.size(); ++i) free_.push(mine[i]);
    mine.resize(size_t(n));
}

void Sequences::clear() {
    for (SequenceId sequence = 0; sequence < n_sequence(); ++sequence) remove(sequence);
}

}  // namespace minfer::kv
