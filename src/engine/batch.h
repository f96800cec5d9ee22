// What goes through the model in one go, and the data of a forward pass that follows from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/inputs.h"
#include "kv/sequences.h"
#include "tokenizer/vocabulary.h"

namespace minfer::engine {

using kv::SequenceId;
using tokenizer::TokenId;

struct BatchToken {
    TokenId token = 0;
    SequenceId sequence = 0;  // the token comes after all that the sequence holds
    bool wants_logits = false;
};

// Tokens of any sequences in any mixture; those of one sequence stand in its order.
using Batch = std::vector<BatchToken>;

// graph::Inputs of some tokens of a batch, with the memory behind them, which later batches use again.
class BatchInputs {
  public:
    // Takes cells of `sequences` for the tokens, and fills in ids, positions, cells, what each token sees, and the rows
    // of those that want logits. Throws ShapeError, changing nothing, when the cells do not suffice.
    void assign(std::span<const BatchToken> tokens, kv::Sequences& sequences);

    // Borrows this object and the sequences; valid until either changes.
    graph::Inputs inputs() const;
    std::span<const int32_t> output_rows() const { return output_rows_; }
    // Position of token i in its sequence.
    int32_t position(size_t i) const { return positions_[i]; }

  private:
    std::vector<int32_t> token_ids_, positions_, kv_cells_, output_rows_;
    std::vector<int32_t> offsets_, n_visible_;
    std::vector<int32_t> visible_cells_;      // the cells of each sequence of the batch, end to end
    std::vector<int32_t> n_new_, offset_of_;  // by sequence
};

}  // namespace minfer::engine
