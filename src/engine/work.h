// What a forward pass cannot do without: bytes to read and multiply-adds to make. They are the floor of its time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "graph/graph.h"
#include "graph/weight_table.h"
#include "kv/layout.h"

namespace minfer::engine {

struct Work {
    uint64_t weight_bytes = 0;  // each tensor once, as its file holds it; of an embedding the rows that are read
    uint64_t kv_bytes = 0;      // cells written, and cells seen, each once
    uint64_t integer_multiply_adds = 0;  // with weights that are integers
    uint64_t float_multiply_adds = 0;    // with F32, F16 and BF16 weights, and in attention

    uint64_t bytes() const { return weight_bytes + kv_bytes; }
    uint64_t multiply_adds() const { return integer_multiply_adds + float_multiply_adds; }
    Work& operator+=(const Work& other);
};

// What the tokens of a pass see of the cache.
struct SeenCells {
    size_t n_cell = 0;  // cells that any of them sees, those that the pass writes included
    size_t n_key = 0;   // the sum over the tokens of the cells that each sees
};

Work work_of(const graph::Graph& graph, const graph::WeightTable& weights, const kv::Layout& layout, SeenCells seen);

}  // namespace minfer::engine
