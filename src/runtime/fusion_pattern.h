// What a pattern of fusion is: it finds chains and says what stands in their place. One source file a pattern.
#pragma once

#include <cstddef>
#include <vector>

#include "backend/backend.h"
#include "graph/graph.h"
#include "runtime/assign.h"

namespace minfer::runtime {

// Where a pattern looks. A fused node may replace nodes of one backend only.
struct FusionSite {
    const graph::Graph& graph;
    const Assignment& assignment;
    std::vector<size_t> uses;  // of each node

    bool together(graph::NodeId a, graph::NodeId b) const { return assignment[size_t(a)] == assignment[size_t(b)]; }
    // Its value serves that one reader, so it may vanish into it.
    bool inner_to(graph::NodeId inner, graph::NodeId reader) const {
        return uses[size_t(inner)] == 1 && together(inner, reader);
    }
};

// A chain found. Ids are those of the graph that was searched; each node is in one match at most.
struct Match {
    struct Result {
        graph::NodeId node;  // whose value is, from now on,
        size_t offset = 0;   // the piece of the fused node's value that starts here, in values
    };
    graph::Node fused;                  // shape and type are found by the shape rules
    graph::NodeId place;                // the fused node stands where this one stood
    std::vector<graph::NodeId> vanish;  // inner nodes, computed no more
    std::vector<Result> results;        // one of the fused node's own shape, or several, each a View of it
};

std::vector<Match> find_swiglu(const FusionSite& site);
std::vector<Match> find_bias_rope(const FusionSite& site);
std::vector<Match> find_qkv(const FusionSite& site);
std::vector<Match> find_gate_up(const FusionSite& site);

}  // namespace minfer::runtime
