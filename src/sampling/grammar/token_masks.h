// Which tokens a grammar allows, for each of its nodes and whoever called the rule that the node is in.
//
// A mask for a node is made once, the first time that a text comes there, by a walk of the tree of tokens. Tokens that
// stay within the rule need no more; for those that run on past its end the walk notes where in the tree that happens,
// and the rest of the way is walked for each caller. See docs/sampling.md, "Masks".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "sampling/grammar/automaton.h"
#include "sampling/grammar/machine.h"
#include "sampling/grammar/token_trie.h"

namespace minfer::sampling::grammar {

// A set of tokens: bit i % 64 of word i / 64 is token i.
using TokenSet = std::vector<uint64_t>;

// Shared by all texts under one grammar. Not for more than one thread at a time.
class TokenMasks {
  public:
    TokenMasks(const Grammar& grammar, std::shared_ptr<const TokenTrie> trie);

    const Automaton& automaton() const { return automaton_; }
    const TokenTrie& trie() const { return *trie_; }

    // Adds the tokens of text that may come where `machine`, which runs this automaton, is.
    void add_allowed(Machine& machine, ConfigId config, TokenSet& out);

    // Makes the masks of all nodes that a text can come to, as far as that takes less than this many steps of walks.
    void prepare(size_t max_steps);

    size_t n_mask() const { return masks_.size(); }

  private:
    struct Mask {
        TokenSet bits = {};                // empty where there are few: then
        std::vector<int32_t> tokens = {};  // has them all
        std::vector<uint32_t> exits = {};  // nodes of the tree where the rule has ended, and longer tokens go on
    };

    const Mask& mask(NodeId node);
    Mask make(NodeId node);
    Mask make_like(NodeId node, const Twin& twin);
    void add_token_edges(const Node& node, TokenSet& out) const;
    // Calls accept(node of the tree) wherever the machine is still alive below `top`, and leave(node) where the rule at
    // the bottom of an unknown stack has ended.
    template <class Accept, class Leave>
    void walk(Machine& machine, ConfigId config, uint32_t top, const Accept& accept, const Leave& leave);

    Automaton automaton_;
    std::shared_ptr<const TokenTrie> trie_;
    Machine machine_;  // for walks with an unknown caller
    std::unordered_map<NodeId, Mask> masks_;
    size_t bytes_ = 0;  // of the masks
    size_t steps_ = 0;  // of walks so far
    std::vector<ConfigId> path_;
    std::vector<int32_t> found_;
};

}  // namespace minfer::sampling::grammar
