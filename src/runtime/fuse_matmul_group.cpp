// MatMul(w_0, x), MatMul(w_1, x), ... -> MatMulGroup(x, w_0, w_1, ...) and a View a part, for the projections behind
// one Attention: its query, and its StoreKv's key and value. An output of a matmul is a chain of its own, so the parts
// have the bits of the separate ones; x is read, and rounded to integers, once.
#include <algorithm>
#include <optional>
#include <string>

#include "runtime/fusion_pattern.h"

namespace minfer::runtime {

using graph::Node;
using graph::NodeId;
using graph::Op;

namespace {

// The MatMul that a query, key or value comes from, through biases, norms and RoPE.
std::optional<NodeId> projection(const FusionSite& site, NodeId id) {
    for (;;) {
        const Node& node = site.graph[id];
        switch (node.op) {
            case Op::MatMul:
                return id;
            case Op::AddBias:
            case Op::RmsNorm:
            case Op::Rope:
            case Op::BiasRope:
                id = node.inputs[0];
                break;
            default:
                return std::nullopt;
        }
    }
}

// The match of these matmuls, where they are different ones of one x.
std::optional<Match> group(const FusionSite& site, const std::vector<std::optional<NodeId>>& parts) {
    Match match;
    std::vector<NodeId> matmuls;
    for (std::optional<NodeId> part : parts) {
        if (!part || std::ranges::count(matmuls, *part) != 0) return std::nullopt;
        matmuls.push_back(*part);
    }
    const NodeId x = site.graph[matmuls[0]].inputs[1];
    match.fused = {Op::MatMulGroup, {x}, {}, {}, {}, site.graph[matmuls[0]].name + "+k+v"};
    size_t offset = 0;
    for (NodeId matmul : matmuls) {
        const Node& node = site.graph[matmul];
        if (node.inputs[1] != x || !site.together(matmul, matmuls[0])) return std::nullopt;
        match.fused.inputs.push_back(node.inputs[0]);
        match.results.push_back({matmul, offset});
        offset += node.shape.n_values();
    }
    match.place = *std::ranges::min_element(matmuls);
    return match;
}

}  // namespace

std::vector<Match> find_qkv(const FusionSite& site) {
    std::vector<Match> matches;
    for (const Node& node : site.graph.nodes()) {
        if (node.op != Op::Attention) continue;
        const Node& stored = site.graph[node.inputs[1]];
        if (auto match = group(site, {projection(site, node.inputs[0]), projection(site, stored.inputs[0]),
                                      projection(site, stored.inputs[1])}))
            matches.push_back(*std::move(match));
    }
    return matches;
}

}  // namespace minfer::runtime
