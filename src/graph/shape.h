// The shape of a tensor of a graph.
#pragma once

#include <cstddef>
#include <string>

namespace minfer::graph {

struct Shape {
    size_t rows = 0;
    size_t dim = 0;  // values of a row; rows lie one after the other

    size_t n_values() const { return rows * dim; }
    bool operator==(const Shape&) const = default;
};

std::string to_string(const Shape& shape);  // "[7][896]"

}  // namespace minfer::graph
