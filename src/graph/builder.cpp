#include "graph/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "graph/shape_rules.h"

namespace minfer::graph {

Builder::Builder(const WeightTable& weights, const GraphParams& params)
    : weights_(weights),
      params_(params),
      weight_nodes_(weights.size()),
      input_nodes_(size_t(InputKind::OutputRows) + 1) {
    if (params.n_token == 0) throw ShapeError("graph: a batch of no tokens");
}

NodeId Builder::weight(WeightId id) {
    if (id == kNoWeight || size_t(id) >= weights_.size())
        throw ShapeError(fmt::format("graph: weight {} of a table of {}", int32_t(id), weights_.size()));
    std::optional<NodeId>& node = weight_nodes_[size_t(id)];
    if (!node) {
        const Weight& w = weights_[id];
        node = graph_.add({Op::Weight, {}, w.shape, DType::Encoded, WeightAttributes{id, w.type}, w.name});
    }
    return *node;
}

NodeId Builder::input(InputKind kind, size_t rows) {
    std::optional<NodeId>& node = input_nodes_[size_t(kind)];
    if (!node) node = graph_.add({Op::Input, {}, {rows, 1}, DType::I32, kind, std::string(input_name(kind))});
    return *node;
}

NodeId Builder::token_ids() { return input(InputKind::TokenIds, params_.n_token); }
NodeId Builder::positions() { return input(InputKind::Positions, params_.n_token); }
NodeId Builder::kv_cells() { return input(InputKind::KvCells, params_.n_token); }
NodeId Builder::cell_map() { return input(InputKind::CellMap, params_.n_token); }

NodeId Builder::output_rows() {
    if (params_.n_output_rows == 0) throw ShapeError("graph: output rows of a batch that wants none");
    return input(InputKind::OutputRows, params_.n_output_rows);
}

NodeId Builder::add_node(Op op, std::string name, std::vector<NodeId> inputs, Attributes attributes) {
    return add_checked(graph_, {op, std::move(inputs), {}, DType::F32, attributes, std::move(name)});
}

NodeId Builder::get_rows(std::string name, NodeId table, NodeId ids) {
    return add_node(Op::GetRows, std::move(name), {table, ids});
}
NodeId Builder::rms_norm(std::string name, NodeId x, NodeId weight, float eps) {
    return add_node(Op::RmsNorm, std::move(name), {x, weight}, RmsNormAttributes{eps});
}
NodeId Builder::matmul(std::string name, NodeId w, NodeId x) { return add_node(Op::MatMul, std::move(name), {w, x}); }
NodeId Builder::add_bias(std::string name, NodeId x, NodeId bias) {
    return add_node(Op::AddBias, std::move(name), {x, bias});
}
NodeId Builder::add(std::string name, NodeId a, NodeId b) { return add_node(Op::Add, std::move(name), {a, b}); }
NodeId Builder::mul(std::string name, NodeId a, NodeId b) { return add_node(Op::Mul, std::move(name), {a, b}); }
NodeId Builder::silu(std::string name, NodeId x) { return add_node(Op::Silu, std::move(name), {x}); }

NodeId Builder::rope_table(std::string name, NodeId positions, std::optional<NodeId> freq_factors,
                           const RopeParams& rope) {
    std::vector<NodeId> inputs = {positions};
    if (freq_factors) inputs.push_back(*freq_factors);
    return add_node(Op::RopeTable, std::move(name), std::move(inputs), rope);
}
NodeId Builder::rope(std::string name, NodeId x, NodeId table, const RopeAttributes& attributes) {
    return add_node(Op::Rope, std::move(name), {x, table}, attributes);
}
NodeId Builder::store_kv(std::string name, NodeId k, NodeId v, NodeId cells, size_t layer) {
    return add_node(Op::StoreKv, std::move(name), {k, v, cells}, StoreKvAttributes{layer});
}
NodeId Builder::attention(std::string name, NodeId q, NodeId stored, NodeId cell_map,
                          const AttentionAttributes& attributes) {
    return add_node(Op::Attention, std::move(name), {q, stored, cell_map}, attributes);
}
NodeId Builder::select_rows(std::string name, NodeId x, NodeId rows) {
    return add_node(Op::SelectRows, std::move(name), {x, rows});
}
NodeId Builder::view(std::string name, NodeId x, size_t offset, Shape shape) {
    return add_checked(graph_, {Op::View, {x}, shape, DType::F32, ViewAttributes{offset}, std::move(name)});
}
NodeId Builder::swiglu(std::string name, NodeId gate, NodeId up) {
    return add_node(Op::SwiGlu, std::move(name), {gate, up});
}
NodeId Builder::bias_rope(std::string name, NodeId x, NodeId bias, NodeId table, const RopeAttributes& attributes) {
    return add_node(Op::BiasRope, std::move(name), {x, bias, table}, attributes);
}
NodeId Builder::matmul_group(std::string name, NodeId x, const std::vector<NodeId>& weights) {
    std::vector<NodeId> inputs = {x};
    inputs.insert(inputs.end(), weights.begin(), weights.end());
    return add_node(Op::MatMulGroup, std::move(name), std::move(inputs));
}
NodeId Builder::matmul_swiglu(std::string name, NodeId x, NodeId gate, NodeId up) {
    return add_node(Op::MatMulSwiGlu, std::move(name), {x, gate, up});
}

void Builder::output(NodeId id) {
    if (size_t(id) >= graph_.size() || graph_[id].dtype != DType::F32)
        throw ShapeError(fmt::format("graph: node {} cannot be an output; expected activations in f32", int32_t(id)));
    graph_.add_output(id);
}

Graph Builder::finish() && {
    const bool stores = std::ranges::any_of(graph_.nodes(), [](const Node& n) { return n.op == Op::StoreKv; });
    if (graph_.outputs().empty() && !stores) throw ShapeError("graph: neither an output nor a store_kv");
    return std::move(graph_);
}

}  // namespace minfer::graph
