// Mul(Silu(gate), up) -> SwiGlu(gate, up). SwiGlu rounds silu(gate) to a float before the product, as the chain does.
#include "runtime/fusion_pattern.h"

namespace minfer::runtime {

using graph::Node;
using graph::NodeId;
using graph::Op;

std::vector<Match> find_swiglu(const FusionSite& site) {
    std::vector<Match> matches;
    for (size_t i = 0; i < site.graph.size(); ++i) {
        const NodeId mul{int32_t(i)};
        if (site.graph[mul].op != Op::Mul) continue;
        const NodeId silu = site.graph[mul].inputs[0], up = site.graph[mul].inputs[1];
        if (site.graph[silu].op != Op::Silu || !site.inner_to(silu, mul)) continue;
        Node fused{Op::SwiGlu, {site.graph[silu].inputs[0], up}, {}, {}, {}, site.graph[mul].name};
        matches.push_back({std::move(fused), mul, {silu}, {{mul}}});
    }
    return matches;
}

}  // namespace minfer::runtime
