// Rope(AddBias(x, bias), table) -> BiasRope(x, bias, table), which rounds the sum to a float before it turns it.
#include "runtime/fusion_pattern.h"

namespace minfer::runtime {

using graph::Node;
using graph::NodeId;
using graph::Op;

std::vector<Match> find_bias_rope(const FusionSite& site) {
    std::vector<Match> matches;
    for (size_t i = 0; i < site.graph.size(); ++i) {
        const NodeId rope{int32_t(i)};
        if (site.graph[rope].op != Op::Rope) continue;
        const NodeId sum = site.graph[rope].inputs[0], table = site.graph[rope].inputs[1];
        if (site.graph[sum].op != Op::AddBias || !site.inner_to(sum, rope)) continue;
        const Node& bias = site.graph[sum];
        Node fused{Op::BiasRope,         {bias.inputs[0], bias.inputs[1], table}, {}, {}, site.graph[rope].attributes,
                   site.graph[rope].name};
        matches.push_back({std::move(fused), rope, {sum}, {{rope}}});
    }
    return matches;
}

}  // namespace minfer::runtime
