// What shape and type an operator's output has, and which inputs it refuses.
#pragma once

#include "graph/graph.h"

namespace minfer::graph {

// The node's output. `node` has operator, inputs (of `graph`), attributes and name; View also its shape, which is
// checked rather than found. Throws ShapeError as builder.h says. Not for leaves.
struct OutputForm {
    Shape shape;
    DType dtype = DType::F32;
};
OutputForm output_form(const Graph& graph, const Node& node);

// `node` with the shape and type of output_form, added to `graph`.
NodeId add_checked(Graph& graph, Node node);

}  // namespace minfer::graph
