#include "graph/graph.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"

namespace minfer::graph {

std::string to_string(const Shape& shape) { return fmt::format("[{}][{}]", shape.rows, shape.dim); }

std::string_view dtype_name(DType dtype) {
    switch (dtype) {
        case DType::F32:
            return "f32";
        case DType::I32:
            return "i32";
        case DType::Encoded:
            return "encoded";
        case DType::Effect:
            return "effect";
    }
    return "?";
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
    throw UnsupportedError(
        fmt::format("{} '{}': an encoded tensor's bytes are its weight's", op_name(node.op), node.name));
}

}  // namespace minfer::graph
