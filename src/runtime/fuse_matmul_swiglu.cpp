// SwiGlu(MatMul(gate, x), MatMul(up, x)) -> MatMulSwiGlu(x, gate, up), which need not write the two factors to memory.
// An output of a matmul is a chain of its own, so the bits are those of the separate nodes.
#include "runtime/fusion_pattern.h"

namespace minfer::runtime {

using graph::Node;
using graph::NodeId;
using graph::Op;

std::vector<Match> find_gate_up(const FusionSite& site) {
    std::vector<Match> matches;
    for (size_t i = 0; i < site.graph.size(); ++i) {
        const NodeId swiglu{int32_t(i)};
        if (site.graph[swiglu].op != Op::SwiGlu) continue;
        const NodeId gate = site.graph[swiglu].inputs[0], up = site.graph[swiglu].inputs[1];
        const auto inner_matmul = [&](NodeId id) {
            return site.graph[id].op == Op::MatMul && site.inner_to(id, swiglu);
        };
        if (!inner_matmul(gate) || !inner_matmul(up)) continue;
        const NodeId x = site.graph[gate].inputs[1];
        if (site.graph[up].inputs[1] != x) continue;
        Node fused{Op::MatMulSwiGlu,       {x, site.graph[gate].inputs[0], site.graph[up].inputs[0]}, {}, {}, {},
                   site.graph[swiglu].name};
        matches.push_back({std::move(fused), swiglu, {gate, up}, {{swiglu}}});
    }
    return matches;
}

}  // namespace minfer::runtime
