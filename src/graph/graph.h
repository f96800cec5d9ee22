// A forward pass as data: nodes in the order in which they were built, which is a topological order.
//
// A graph owns no memory of tensors. It is made by a Builder, rewritten by runtime/fuse and run by runtime/scheduler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/op.h"
#include "graph/shape.h"

namespace minfer::graph {

// An index into one Graph's nodes().
enum class NodeId : int32_t {};

// What lies in a node's memory.
enum class DType : uint8_t {
    F32,
    I32,
    Encoded,  // a weight, as its GGUF type says
    Effect,   // nothing: the node is there for what it does, and those that depend on it name it as an input
};

struct Node {
    Op op = Op::Input;
    std::vector<NodeId> inputs;  // all of smaller id
    Shape shape;
    DType dtype = DType::F32;
    Attributes attributes;
    std::string name;  // for people: "blk.0.attn_q"; need not be unique

    // The attribute of that type. The builder gives each operator its own; another one throws std::bad_variant_access.
    template <typename T>
    const T& as() const {
        return std::get<T>(attributes);
    }
};

// "'blk.0.attn_q.weight' is weight q4_K [896][896]", "'blk.0.q' is f32 [7][896]"; for messages.
std::string describe(const Node& node);
// "f32", "i32", "effect", or the GGUF type of a weight.
std::string_view type_name(const Node& node);

class Graph {
  public:
    // The node's shape and type must follow from its inputs: Builder and runtime/fuse get them from shape_rules.h.
    NodeId add(Node node);
    // Marks a node whose values are wanted after the run; outputs are numbered in the order of the calls.
    void add_output(NodeId id) { outputs_.push_back(id); }

    const Node& operator[](NodeId id) const { return nodes_[size_t(id)]; }
    size_t size() const { return nodes_.size(); }
    std::span<const Node> nodes() const { return nodes_; }
    std::span<const NodeId> outputs() const { return outputs_; }

    // How often each node is an input or an output, by index.
    std::vector<size_t> use_counts() const;
    // Bytes of a node's values: 0 for an Effect.
    size_t n_bytes(NodeId id) const;

  private:
    std::vector<Node> nodes_;
    std::vector<NodeId> outputs_;
};

// All that a graph may depend on, and so the key under which it is reused. A model's build_graph is a pure function of
// these: positions, cells and ids are data, the number of sequences too (kv::AttentionMap), and a decode step finds the
// last one's graph.
struct GraphParams {
    size_t n_token = 0;        // tokens of the batch, at least 1
    size_t n_output_rows = 0;  // rows of logits wanted; 0: the graph ends with the last layer's keys and values
    uint64_t weights_version = 0;

    bool operator==(const GraphParams&) const = default;
};

}  // namespace minfer::graph
