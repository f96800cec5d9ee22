// A grammar as a pushdown automaton over bytes: nodes with edges of bytes, and calls of rules that come back to a node.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sampling/grammar/grammar.h"

namespace minfer::sampling::grammar {

using NodeId = uint32_t;

struct ByteEdge {
    uint8_t first, last;  // both included
    NodeId to;
    bool operator==(const ByteEdge&) const = default;
};
struct CallEdge {
    NodeId entry;  // of the rule
    NodeId then;   // where to go on once it ends; kEnd: the rule's end is this one's end too
    bool operator==(const CallEdge&) const = default;
};
struct TokenEdge {
    int32_t token;
    bool negated;
    NodeId to;
    bool operator==(const TokenEdge&) const = default;
};

struct Node {
    std::vector<ByteEdge> bytes = {};
    std::vector<NodeId> jumps = {};  // to be here is to be there as well
    std::vector<CallEdge> calls = {};
    std::vector<TokenEdge> tokens = {};
    bool operator==(const Node&) const = default;
};

// A node that allows the same bytes as another one does, for so many bytes on. A place in `char{0,200}` is one in
// `char*` until the limit is near.
struct Twin {
    NodeId node;
    uint32_t bytes;  // 0: it has none
};

// The end of a rule: the only node without edges.
constexpr NodeId kEnd = 0;

// Nodes alike are one node, wherever the grammar has them: the rest of a string of at most 5 characters is the same
// in each string that has a limit. So a mask made for it serves them all.
class Automaton {
  public:
    // Throws UnsupportedError for a grammar that takes too many nodes.
    explicit Automaton(const Grammar& grammar);

    NodeId start() const { return start_; }
    const Node& node(NodeId id) const { return nodes_[id]; }
    size_t n_node() const { return nodes_.size(); }
    const Twin& twin(NodeId id) const { return twins_[id]; }

    // Bytes of one class are on the same edges everywhere.
    size_t n_class() const { return n_class_; }
    uint8_t class_of(uint8_t byte) const { return class_of_[byte]; }
    uint8_t byte_of(size_t byte_class) const { return byte_of_[byte_class]; }

  private:
    friend class AutomatonBuilder;
    void classify_bytes();

    std::vector<Node> nodes_;
    std::vector<Twin> twins_;
    NodeId start_ = 0;
    size_t n_class_ = 0;
    std::array<uint8_t, 256> class_of_{};
    std::array<uint8_t, 256> byte_of_{};
};

}  // namespace minfer::sampling::grammar
