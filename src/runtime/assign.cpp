#include "runtime/assign.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/error.h"

namespace minfer::runtime {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;

namespace {

// The nodes that must be on one backend with node `id`, itself first.
std::vector<NodeId> together(const Graph& graph, NodeId id) {
    std::vector<NodeId> group = {id};
    if (graph[id].op != Op::StoreKv) return group;
    for (size_t i = size_t(id) + 1; i < graph.size(); ++i)
        if (graph.nodes()[i].op == Op::Attention && graph.nodes()[i].inputs[1] == id) group.push_back(NodeId(i));
    return group;
}

[[noreturn]] void refuse(const Graph& graph, const std::vector<NodeId>& group,
                         std::span<backend::Backend* const> backends, kv::CellType cells) {
    std::string what;
    for (NodeId id : group) {
        if (!what.empty()) what += " together with ";
        what += fmt::format("{} '{}' (", op_name(graph[id].op), graph[id].name);
        for (size_t i = 0; i < graph[id].inputs.size(); ++i)
            what += (i == 0 ? "" : ", ") + describe(graph[graph[id].inputs[i]]);
        what += ")";
    }
    for (NodeId id : group)
        if (graph[id].op == Op::Attention)
            what += fmt::format(" over {} cells in heads of {} values", kv::type_name(cells),
                                graph[id].as<graph::AttentionAttributes>().head_dim);
    std::string names;
    for (const backend::Backend* b : backends) {
        if (!names.empty()) names += ", ";
        names += b->name();
    }
    throw UnsupportedError(fmt::format("no backend runs {}; asked: {}", what, names.empty() ? "none" : names));
}

}  // namespace

Assignment assign(const Graph& graph, std::span<backend::Backend* const> backends, const kv::Layout& layout) {
    Assignment assignment(graph.size(), kNoBackend);
    for (size_t i = 0; i < graph.size(); ++i) {
        const Node& node = graph.nodes()[i];
        if (graph::is_leaf(node.op) || assignment[i] != kNoBackend) continue;
        if (node.op == Op::View) {
            assignment[i] = assignment[size_t(node.inputs[0])];
            continue;
        }
        const std::vector<NodeId> group = together(graph, NodeId(i));
        const auto runs_all = [&](const backend::Backend* b) {
            return std::ranges::all_of(group, [&](NodeId id) { return b->supports_op(graph, id, layout.type); });
        };
        const auto found = std::ranges::find_if(backends, runs_all);
        if (found == backends.end()) refuse(graph, group, backends, layout.type);
        for (NodeId id : group) assignment[size_t(id)] = int32_t(found - backends.begin());
    }
    return assignment;
}

}  // namespace minfer::runtime
