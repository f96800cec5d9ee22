// Where values cross from one backend to another.
#pragma once

#include "graph/graph.h"
#include "runtime/assign.h"
#include "runtime/fuse.h"

namespace minfer::runtime {

// The graph with a Copy before the first node of a backend that reads a value of another; all later readers on that
// backend read the same Copy. A Copy is assigned to the backend that it brings the value to.
FusedGraph split(const FusedGraph& fused);

}  // namespace minfer::runtime
