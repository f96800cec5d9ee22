// Fusion: chains of nodes replaced by one node that computes the same bits.
//
//   swiglu     Mul(Silu(gate), up)                             -> SwiGlu(gate, up)
//   bias_rope  Rope(AddBias(x, bias), table)                   -> BiasRope(x, bias, table)
//   qkv        the MatMuls of one x behind a StoreKv and its Attention's query -> MatMulGroup and three Views
//   gate_up    SwiGlu(MatMul(gate, x), MatMul(up, x))          -> MatMulSwiGlu(x, gate, up)
//
// A chain is replaced where its inner values have no other use, all of it is on one backend, and that backend supports
// both the pattern and the new node. Patterns are looked for in this order, so gate_up finds nothing where swiglu is
// off.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "graph/graph.h"
#include "runtime/assign.h"

namespace minfer::runtime {

struct FusionOptions {
    bool swiglu = true;
    bool bias_rope = true;
    bool qkv = true;
    bool gate_up = true;

    bool allows(backend::Fusion fusion) const;
    // All but those in a list such as "swiglu,qkv"; "all" turns off every one, "" none. Throws UsageError for a name
    // that is none of a pattern.
    static FusionOptions without(std::string_view list);
    // without() of the environment's MINFER_NO_FUSE, everything where it is unset.
    static FusionOptions from_environment();
};

struct FusedGraph {
    graph::Graph graph;
    Assignment assignment;
};

FusedGraph fuse(const graph::Graph& graph, const Assignment& assignment, std::span<backend::Backend* const> backends,
                const kv::Layout& layout, const FusionOptions& options);

}  // namespace minfer::runtime
