// Which backend computes each node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "graph/graph.h"

namespace minfer::runtime {

// By node, an index into the backends; kNoBackend for leaves, which are data for whoever reads them.
using Assignment = std::vector<int32_t>;
constexpr int32_t kNoBackend = -1;

// Each node goes to the first backend, in order of priority, that supports it. A View goes where its input is. A
// StoreKv and the Attentions that read its cells go to one backend together, for the cells are there. Throws
// UnsupportedError naming operator, types and backends where no backend supports a node.
Assignment assign(const graph::Graph& graph, std::span<backend::Backend* const> backends, const kv::Layout& layout);

}  // namespace minfer::runtime
