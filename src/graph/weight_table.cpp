#include "graph/weight_table.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"

namespace minfer::graph {

WeightId WeightTable::add(Weight weight) {
    const size_t expected = weight.shape.rows * size_t(gguf::row_bytes(weight.type, weight.shape.dim));
    if (weight.data.size() != expected)
        throw ShapeError(fmt::format("weight '{}': found {} bytes, expected {} for {} of type {}", weight.name,
                                     weight.data.size(), expected, to_string(weight.shape),
                                     gguf::type_name(weight.type)));
    weights_.push_back(std::move(weight));
    return WeightId(weights_.size() - 1);
}

}  // namespace minfer::graph
