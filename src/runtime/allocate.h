// Where each value lies in its backend's arena.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/graph.h"
#include "runtime/assign.h"

namespace minfer::runtime {

struct Allocation {
    static constexpr size_t kNowhere = size_t(-1);
    std::vector<size_t> offsets;      // by node; kNowhere for leaves and Effects
    std::vector<size_t> arena_bytes;  // by backend
    size_t value_bytes = 0;           // the sum of all values, had each its own memory
    size_t n_in_place = 0;            // nodes that write over an input
};

// A value lives from its node to the last one that reads it, through Views, and outputs of the graph live to the end.
// Values alive together do not overlap, except a View and its input. An operator that may work in place
// (graph::in_place_inputs) writes over an input that dies with it. Weights, inputs and KV cells are elsewhere.
Allocation allocate(const graph::Graph& graph, const Assignment& assignment, size_t n_backend);

}  // namespace minfer::runtime
