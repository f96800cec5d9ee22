// A graph as Graphviz text.
#pragma once

#include <functional>
#include <string>

#include "graph/graph.h"

namespace minfer::graph {

// `note` gives a further line for a node's label, such as its backend; empty for none.
std::string to_dot(const Graph& graph, const std::function<std::string(NodeId)>& note = {});

}  // namespace minfer::graph
