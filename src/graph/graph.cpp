#include "graph/graph.h"

#include <fmt/format.h>

#include <utility>

#include "gguf/types.h"

namespace minfer::graph {

std::string to_string(const Shape& shape) { return fmt::format("[{}][{}]", shape.rows, shape.dim); }

std::string_view type_name(const Node& node) {
    switch (node.dtype) {
        case DType::F32:
            return "f32";
        case DType::I32:
            return "i32";
        case DType::Effect:
            return "effect";
        case DType::Encoded:
            break;
    }
    return gguf::type_name(node.as<WeightAttributes>().type);
}

std::string describe(const Node& node) {
    if (node.dtype == DType::Effect) return fmt::format("'{}' is an effect", node.name);
    return fmt::format("'{}' is {}{} {}", node.name, node.op == Op::Weight ? "weight " : "", type_name(node),
                       to_string(node.shape));
}

NodeId Graph::add(Node node) {
    nodes_.push_back(std::move(node));
    return NodeId(nodes_.size() - 1);
}

std::vector<size_t> Graph::use_counts() const {
    std::vector<size_t> uses(nodes_.size(), 0);
    for (const Node& node : nodes_)
        for (NodeId input : node.inputs) ++uses[size_t(input)];
    for (NodeId output : outputs_) ++uses[size_t(output)];
    return uses;
}

size_t Graph::n_bytes(NodeId id) const {
    const Node& node = (*this)[id];
    switch (node.dtype) {
        case DType::F32:
            return node.shape.n_values() * sizeof(float);
        case DType::I32:
            return node.shape.n_values() * sizeof(int32_t);
        case DType::Effect:
            return 0;
        case DType::Encoded:
            break;
    }
    return node.shape.rows * size_t(gguf::row_bytes(node.as<WeightAttributes>().type, node.shape.dim));
}

}  // namespace minfer::graph
