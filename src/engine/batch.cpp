#include "engine/batch.h"

#include <fmt/format.h>

#include "base/error.h"

namespace minfer::engine {

void BatchInputs::assign(std::span<const BatchToken> tokens, kv::Sequences& sequences) {
    n_new_.assign(size_t(sequences.n_sequence()), 0);
    for (const BatchToken& t : tokens) ++n_new_.at(size_t(t.sequence));
    if (int32_t(tokens.size()) > sequences.n_free())
        throw ShapeError(fmt::format("the context is full: {} of its {} cells are taken, and {} more tokens came",
                                     sequences.n_cell() - sequences.n_free(), sequences.n_cell(), tokens.size()));
    // Position of each sequence's next token of the batch; then the cells of all its tokens, old and new.
    offset_of_.assign(n_new_.size(), -1);
    visible_cells_.clear();
    for (size_t s = 0; s < n_new_.size(); ++s) {
        if (n_new_[s] == 0) continue;
        sequences.append(SequenceId(s), n_new_[s]);
        offset_of_[s] = int32_t(visible_cells_.size());
        const std::span<const int32_t> cells = sequences.cells(SequenceId(s));
        visible_cells_.insert(visible_cells_.end(), cells.begin(), cells.end());
    }
    token_ids_.clear();
    positions_.clear();
    kv_cells_.clear();
    offsets_.clear();
    n_visible_.clear();
    output_rows_.clear();
    for (const BatchToken& t : tokens) {
        const size_t s = size_t(t.sequence);
        const int32_t position = sequences.length(t.sequence) - n_new_[s]--;
        if (t.wants_logits) output_rows_.push_back(int32_t(token_ids_.size()));
        token_ids_.push_back(t.token);
        positions_.push_back(position);
        kv_cells_.push_back(visible_cells_[size_t(offset_of_[s]) + size_t(position)]);
        offsets_.push_back(offset_of_[s]);
        n_visible_.push_back(position + 1);
    }
}

graph::Inputs BatchInputs::inputs() const {
    return {.token_ids = token_ids_,
            .positions = positions_,
            .kv_cells = kv_cells_,
            .attention_map = {.offsets = offsets_, .n_visible = n_visible_, .cells = visible_cells_},
            .output_rows = output_rows_};
}

}  // namespace minfer::engine
