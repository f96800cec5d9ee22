// Batches for tests: tokens of some sequences, each a list of cells that were taken in no particular order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include "graph/inputs.h"

namespace minfer::test {

using Sequence = std::vector<int32_t>;  // its cells, oldest token first

class Cells {
  public:
    Cells(size_t n, uint32_t seed) : free_(n) {
        std::iota(free_.begin(), free_.end(), 0);
        std::mt19937 random(seed);
        std::ranges::shuffle(free_, random);
    }
    int32_t take() {
        if (free_.empty()) throw std::out_of_range("no free cell");
        const int32_t cell = free_.back();
        free_.pop_back();
        return cell;
    }

  private:
    std::vector<int32_t> free_;
};

struct Batch {
    std::vector<int32_t> token_ids, positions, kv_cells, offsets, n_visible, seen, output_rows;

    // Appends tokens to a sequence and the batch. The logits of the last `n_output` of them are wanted.
    void add(Sequence& sequence, Cells& cells, std::span<const int32_t> tokens, size_t n_output) {
        for (size_t i = 0; i < tokens.size(); ++i) {
            if (i + n_output >= tokens.size()) output_rows.push_back(int32_t(token_ids.size()));
            token_ids.push_back(tokens[i]);
            positions.push_back(int32_t(sequence.size()));
            sequence.push_back(cells.take());
            kv_cells.push_back(sequence.back());
            offsets.push_back(int32_t(seen.size()));
            n_visible.push_back(int32_t(sequence.size()));
        }
        seen.insert(seen.end(), sequence.begin(), sequence.end());
    }
    graph::Inputs inputs() const { return {token_ids, positions, kv_cells, {offsets, n_visible, seen}, output_rows}; }
};

}  // namespace minfer::test
