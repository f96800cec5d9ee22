#include "runtime/split.h"

#include <map>
#include <utility>
#include <vector>

#include "graph/shape_rules.h"

namespace minfer::runtime {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;

FusedGraph split(const FusedGraph& fused) {
    const Graph& old = fused.graph;
    FusedGraph out;
    std::vector<NodeId> renamed;
    std::map<std::pair<NodeId, int32_t>, NodeId> copies;  // of a new id, on a backend
    for (size_t i = 0; i < old.size(); ++i) {
        Node node = old.nodes()[i];
        const int32_t here = fused.assignment[i];
        for (NodeId& input : node.inputs) {
            const int32_t there = fused.assignment[size_t(input)];
            const bool value = old[input].dtype == graph::DType::F32;
            input = renamed[size_t(input)];
            if (!value || there == here) continue;
            auto [copy, is_new] = copies.try_emplace({input, here});
            if (is_new) {
                copy->second = graph::add_checked(out.graph, {Op::Copy, {input}, {}, {}, {}, out.graph[input].name});
                out.assignment.push_back(here);
            }
            input = copy->second;
        }
        renamed.push_back(out.graph.add(std::move(node)));
        out.assignment.push_back(here);
    }
    for (NodeId output : old.outputs()) out.graph.add_output(renamed[size_t(output)]);
    return out;
}

}  // namespace minfer::runtime
