// A graph made ready to run: assigned, fused, split at the boundaries of backends, allocated.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "graph/graph.h"
#include "graph/inputs.h"
#include "runtime/allocate.h"
#include "runtime/assign.h"
#include "runtime/fuse.h"

namespace minfer::runtime {

// Consecutive nodes that one backend executes, or one Copy to that backend.
struct Run {
    int32_t backend = kNoBackend;
    std::vector<graph::NodeId> nodes;           // without Views
    std::unique_ptr<backend::Program> program;  // null for a Copy
};

struct Plan {
    graph::Graph graph;  // with fused nodes and Copies
    Assignment assignment;
    Allocation allocation;
    std::vector<Run> runs;
    std::vector<int32_t> layer_backend;  // by layer of the KV cache; kNoBackend where no node stores to it
    std::vector<std::vector<graph::WeightId>> weights;  // by backend: those that its nodes read
    graph::InputLimits limits;                          // of the data that it can run on
};

// Everything but the programs, which need the weights registered first: prepare_programs makes those.
// Throws ShapeError where the graph's keys and values do not fit the layout.
Plan make_plan(const graph::Graph& graph, std::span<backend::Backend* const> backends, const kv::Layout& layout,
               const FusionOptions& options);
void prepare_programs(Plan& plan, std::span<backend::Backend* const> backends, const kv::Layout& layout);

// The plan's graph as Graphviz text, each node with its backend and its place in memory.
std::string to_dot(const Plan& plan, std::span<backend::Backend* const> backends);

}  // namespace minfer::runtime
