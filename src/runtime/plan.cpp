#include "runtime/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "graph/dot.h"
#include "runtime/split.h"

namespace minfer::runtime {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;

namespace {

void check_stores(const Graph& graph, const kv::Layout& layout) {
    std::vector<bool> stored(layout.n_layer, false);
    for (const Node& node : graph.nodes()) {
        if (node.op != Op::StoreKv) continue;
        const size_t layer = node.as<graph::StoreKvAttributes>().layer;
        const size_t dim_k = graph[node.inputs[0]].shape.dim, dim_v = graph[node.inputs[1]].shape.dim;
        if (layer >= layout.n_layer)
            throw ShapeError(
                fmt::format("store_kv '{}': layer {} of a KV cache of {} layers", node.name, layer, layout.n_layer));
        if (stored[layer]) throw ShapeError(fmt::format("store_kv '{}': layer {} is stored twice", node.name, layer));
        if (dim_k != layout.n_head_kv * layout.head_dim_k || dim_v != layout.n_head_kv * layout.head_dim_v)
            throw ShapeError(
                fmt::format("store_kv '{}': found rows of {} and {}, expected {} heads of {} and {} in the KV cache",
                            node.name, dim_k, dim_v, layout.n_head_kv, layout.head_dim_k, layout.head_dim_v));
        stored[layer] = true;
    }
    for (const Node& node : graph.nodes()) {
        if (node.op != Op::Attention) continue;
        const auto& a = node.as<graph::AttentionAttributes>();
        if (a.n_head_kv != layout.n_head_kv || a.head_dim != layout.head_dim_k || a.head_dim != layout.head_dim_v)
            throw ShapeError(fmt::format(
                "attention '{}': found {} key heads of {}, expected {} of {} and {} in the KV cache", node.name,
                a.n_head_kv, a.head_dim, layout.n_head_kv, layout.head_dim_k, layout.head_dim_v));
    }
}

std::vector<Run> make_runs(const Graph& graph, const Assignment& assignment) {
    std::vector<Run> runs;
    bool open = false;  // whether the last run takes further nodes
    for (size_t i = 0; i < graph.size(); ++i) {
        const Op op = graph.nodes()[i].op;
        if (graph::is_leaf(op) || op == Op::View) continue;
        if (!open || op == Op::Copy || runs.back().backend != assignment[i])
            runs.push_back({assignment[i], {}, nullptr});
        runs.back().nodes.push_back(NodeId(int32_t(i)));
        open = op != Op::Copy;
    }
    return runs;
}

std::vector<std::vector<graph::WeightId>> weights_read(const Graph& graph, const Assignment& assignment,
                                                       size_t n_backend) {
    std::vector<std::vector<graph::WeightId>> weights(n_backend);
    for (size_t i = 0; i < graph.size(); ++i) {
        for (NodeId input : graph.nodes()[i].inputs)
            if (graph[input].op == Op::Weight)
                weights[size_t(assignment[i])].push_back(graph[input].as<graph::WeightAttributes>().id);
    }
    for (std::vector<graph::WeightId>& ids : weights) {
        std::ranges::sort(ids);
        ids.erase(std::ranges::unique(ids).begin(), ids.end());
    }
    return weights;
}

graph::InputLimits limits(const Graph& graph, const kv::Layout& layout) {
    graph::InputLimits limits;
    limits.n_cells = layout.n_cells;
    limits.n_vocab = size_t(1) << 31;
    for (const Node& node : graph.nodes())
        if (node.op == Op::GetRows) limits.n_vocab = std::min(limits.n_vocab, graph[node.inputs[0]].shape.rows);
    return limits;
}

}  // namespace

Plan make_plan(const Graph& graph, std::span<backend::Backend* const> backends, const kv::Layout& layout,
               const FusionOptions& options) {
    check_stores(graph, layout);
    FusedGraph ready = split(fuse(graph, assign(graph, backends, layout), backends, layout, options));
    Plan plan;
    plan.allocation = allocate(ready.graph, ready.assignment, backends.size());
    plan.runs = make_runs(ready.graph, ready.assignment);
    plan.weights = weights_read(ready.graph, ready.assignment, backends.size());
    plan.limits = limits(ready.graph, layout);
    plan.layer_backend.assign(layout.n_layer, kNoBackend);
    for (size_t i = 0; i < ready.graph.size(); ++i)
        if (const Node& node = ready.graph.nodes()[i]; node.op == Op::StoreKv)
            plan.layer_backend[node.as<graph::StoreKvAttributes>().layer] = ready.assignment[i];
    plan.graph = std::move(ready.graph);
    plan.assignment = std::move(ready.assignment);
    return plan;
}

void prepare_programs(Plan& plan, std::span<backend::Backend* const> backends, const kv::Layout& layout) {
    for (Run& run : plan.runs)
        if (plan.graph[run.nodes[0]].op != Op::Copy)
            run.program =
                backends[size_t(run.backend)]->prepare(plan.graph, run.nodes, plan.allocation.offsets, layout);
}

std::string to_dot(const Plan& plan, std::span<backend::Backend* const> backends) {
    return graph::to_dot(plan.graph, [&](NodeId id) {
        const int32_t backend = plan.assignment[size_t(id)];
        if (backend == kNoBackend) return std::string();
        const std::string_view name = backends[size_t(backend)]->name();
        const size_t offset = plan.allocation.offsets[size_t(id)];
        return offset == Allocation::kNowhere ? std::string(name) : fmt::format("{} at {}", name, offset);
    });
}

}  // namespace minfer::runtime
