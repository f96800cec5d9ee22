#include "graph/shape_rules.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "base/error.h"

namespace minfer::graph {
namespace {

// A node about to be added, and its complaints: each names the operator, the node, and every input with its shape.
class Rule {
  public:
    Rule(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

    const Node& in(size_t i) const { return graph_[node_.inputs[i]]; }
    size_t n_inputs() const { return node_.inputs.size(); }

    void require(bool holds, const std::string& expected) const {
        if (!holds) fail(expected);
    }
    void arity(size_t least, size_t most) const {
        for (NodeId input : node_.inputs)
            if (size_t(input) >= graph_.size())
                throw ShapeError(fmt::format("{} '{}': input {} is not a node of the graph", op_name(node_.op),
                                             node_.name, int32_t(input)));
        require(n_inputs() >= least && n_inputs() <= most, least == most
                                                               ? fmt::format("expected {} inputs", least)
                                                               : fmt::format("expected {} to {} inputs", least, most));
    }
    void activation(size_t i) const {
        require(in(i).dtype == DType::F32, fmt::format("input {} must be activations in f32", i));
    }
    void integers(size_t i, InputKind kind) const {
        require(in(i).op == Op::Input && in(i).as<InputKind>() == kind,
                fmt::format("input {} must be the input {}", i, input_name(kind)));
    }
    void weight(size_t i) const { require(in(i).op == Op::Weight, fmt::format("input {} must be a weight", i)); }
    // A weight [1][n].
    void vector(size_t i, size_t n) const {
        weight(i);
        require(in(i).shape == Shape{1, n}, fmt::format("input {} must be [1][{}]", i, n));
    }
    void same_shape(size_t i, size_t j) const {
        require(in(i).shape == in(j).shape, fmt::format("inputs {} and {} must have one shape", i, j));
    }
    void same_rows(size_t i, size_t j) const {
        require(in(i).shape.rows == in(j).shape.rows, fmt::format("inputs {} and {} must have as many rows", i, j));
    }
    void multiple(size_t i, size_t n, const char* of) const {
        require(n > 0 && in(i).shape.dim % n == 0,
                fmt::format("rows of input {} must be a multiple of {} {}", i, of, n));
    }

    [[noreturn]] void fail(const std::string& expected) const {
        std::string inputs;
        for (NodeId input : node_.inputs) inputs += (inputs.empty() ? "" : ", ") + describe(graph_[input]);
        throw ShapeError(fmt::format("{} '{}': {}; {}", op_name(node_.op), node_.name,
                                     inputs.empty() ? "no inputs" : inputs, expected));
    }

  private:
    const Graph& graph_;
    const Node& node_;
};

template <typename T>
const T& attributes(const Rule& rule, const Node& node) {
    const T* found = std::get_if<T>(&node.attributes);
    if (!found) rule.fail("attributes of another operator");
    return *found;
}

Shape matmul_part(const Rule& rule, size_t w, size_t x) {
    rule.weight(w);
    const Shape weight = rule.in(w).shape, activations = rule.in(x).shape;
    rule.require(weight.dim == activations.dim,
                 fmt::format("rows of x have {} values, those of the weight {}", activations.dim, weight.dim));
    return {activations.rows, weight.rows};
}

Shape rope(const Rule& rule, const Node& node, size_t table) {
    const auto& rope = attributes<RopeAttributes>(rule, node);
    rule.activation(0);
    rule.activation(table);
    rule.multiple(0, rope.head_dim, "head_dim");
    rule.same_rows(0, table);
    rule.require(rule.in(table).shape.dim <= rope.head_dim,
                 fmt::format("n_rot {} must be at most head_dim {}", rule.in(table).shape.dim, rope.head_dim));
    return rule.in(0).shape;
}

Shape rope_table(const Rule& rule, const Node& node) {
    const auto& params = attributes<RopeParams>(rule, node);
    rule.integers(0, InputKind::Positions);
    rule.require(params.n_rot > 0 && params.n_rot % 2 == 0,
                 fmt::format("n_rot {} must be even and above 0", params.n_rot));
    rule.require(std::isfinite(params.freq_base) && params.freq_base > 0,
                 fmt::format("freq_base {} must be above 0", params.freq_base));
    rule.require(std::isfinite(params.factor) && params.factor > 0,
                 fmt::format("factor {} must be above 0", params.factor));
    if (rule.n_inputs() == 2) rule.vector(1, params.n_rot / 2);
    return {rule.in(0).shape.rows, params.n_rot};
}

void store_kv(const Rule& rule, const Node& node) {
    attributes<StoreKvAttributes>(rule, node);
    rule.activation(0);
    rule.activation(1);
    rule.same_rows(0, 1);
    rule.integers(2, InputKind::KvCells);
    rule.same_rows(0, 2);
}

Shape attention(const Rule& rule, const Node& node) {
    const auto& a = attributes<AttentionAttributes>(rule, node);
    rule.activation(0);
    rule.require(rule.in(1).op == Op::StoreKv && rule.in(1).as<StoreKvAttributes>().layer == a.layer,
                 fmt::format("input 1 must be the store_kv of layer {}", a.layer));
    rule.integers(2, InputKind::CellMap);
    rule.same_rows(0, 2);
    rule.require(a.n_head_kv > 0 && a.n_head % a.n_head_kv == 0,
                 fmt::format("n_head {} must be a multiple of n_head_kv {}", a.n_head, a.n_head_kv));
    rule.require(a.head_dim > 0 && rule.in(0).shape.dim == a.n_head * a.head_dim,
                 fmt::format("rows of queries must be n_head {} of head_dim {}", a.n_head, a.head_dim));
    return rule.in(0).shape;
}

// StoreKv's keys and values are not its output: Attention looks at them through it.
void attention_keys(const Rule& rule, const Graph& graph, const Node& node) {
    const auto& a = node.as<AttentionAttributes>();
    for (size_t i : {size_t(0), size_t(1)}) {
        const Node& stored = graph[rule.in(1).inputs[i]];
        rule.require(stored.shape.dim == a.n_head_kv * a.head_dim,
                     fmt::format("'{}' is {}, whose rows must be n_head_kv {} of head_dim {}", stored.name,
                                 to_string(stored.shape), a.n_head_kv, a.head_dim));
    }
}

void view(const Rule& rule, const Node& node) {
    const size_t offset = attributes<ViewAttributes>(rule, node).offset;
    rule.activation(0);
    const size_t available = rule.in(0).shape.n_values();
    rule.require(node.shape.n_values() > 0 && offset <= available && node.shape.n_values() <= available - offset,
                 fmt::format("a view {} from value {} on must lie within", to_string(node.shape), offset));
}

Shape matmul_group(const Rule& rule) {
    rule.activation(0);
    size_t n_out = 0;
    for (size_t w = 1; w < rule.n_inputs(); ++w) n_out += matmul_part(rule, w, 0).dim;
    return {1, rule.in(0).shape.rows * n_out};
}

Shape matmul_swiglu(const Rule& rule) {
    rule.activation(0);
    const Shape gate = matmul_part(rule, 1, 0), up = matmul_part(rule, 2, 0);
    rule.require(gate == up, fmt::format("gate has {} rows, up {}", gate.dim, up.dim));
    return gate;
}

}  // namespace

OutputForm output_form(const Graph& graph, const Node& node) {
    const Rule rule(graph, node);
    switch (node.op) {
        case Op::GetRows:
            rule.arity(2, 2);
            rule.weight(0);
            rule.integers(1, InputKind::TokenIds);
            return {{rule.in(1).shape.rows, rule.in(0).shape.dim}};
        case Op::RmsNorm:
            rule.arity(2, 2);
            rule.activation(0);
            rule.multiple(0, rule.in(1).shape.dim, "the weight's");
            rule.vector(1, rule.in(1).shape.dim);
            rule.require(attributes<RmsNormAttributes>(rule, node).eps > 0, "eps must be above 0");
            return {rule.in(0).shape};
        case Op::MatMul:
            rule.arity(2, 2);
            rule.activation(1);
            return {matmul_part(rule, 0, 1)};
        case Op::AddBias:
            rule.arity(2, 2);
            rule.activation(0);
            rule.vector(1, rule.in(0).shape.dim);
            return {rule.in(0).shape};
        case Op::Add:
        case Op::Mul:
        case Op::SwiGlu:
            rule.arity(2, 2);
            rule.activation(0);
            rule.activation(1);
            rule.same_shape(0, 1);
            return {rule.in(0).shape};
        case Op::Silu:
        case Op::Copy:
            rule.arity(1, 1);
            rule.activation(0);
            return {rule.in(0).shape};
        case Op::RopeTable:
            rule.arity(1, 2);
            return {rope_table(rule, node)};
        case Op::Rope:
            rule.arity(2, 2);
            return {rope(rule, node, 1)};
        case Op::BiasRope:
            rule.arity(3, 3);
            rule.vector(1, rule.in(0).shape.dim);
            return {rope(rule, node, 2)};
        case Op::StoreKv:
            rule.arity(3, 3);
            store_kv(rule, node);
            return {{}, DType::Effect};
        case Op::Attention: {
            rule.arity(3, 3);
            const Shape shape = attention(rule, node);
            attention_keys(rule, graph, node);
            return {shape};
        }
        case Op::SelectRows:
            rule.arity(2, 2);
            rule.activation(0);
            rule.integers(1, InputKind::OutputRows);
            return {{rule.in(1).shape.rows, rule.in(0).shape.dim}};
        case Op::View:
            rule.arity(1, 1);
            view(rule, node);
            return {node.shape};
        case Op::MatMulGroup:
            rule.arity(3, size_t(-1));
            return {matmul_group(rule)};
        case Op::MatMulSwiGlu:
            rule.arity(3, 3);
            return {matmul_swiglu(rule)};
        case Op::Weight:
        case Op::Input:
            break;
    }
    throw ShapeError(fmt::format("{} '{}': a leaf's shape follows from nothing", op_name(node.op), node.name));
}

NodeId add_checked(Graph& graph, Node node) {
    const OutputForm form = output_form(graph, node);
    node.shape = form.shape;
    node.dtype = form.dtype;
    return graph.add(std::move(node));
}

}  // namespace minfer::graph
