// The tokens of a vocabulary by their bytes, as a tree: tokens that start alike are walked once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace minfer::sampling::grammar {

// Nodes are in the order of a walk, depth first: the children of node i lie in (i, end(i)). Node 0 is the root, of no
// bytes. Immutable, 13 bytes a node.
class TokenTrie {
  public:
    // Tokens that are text: of those that end a text, steer the model or have no bytes, none is in the tree.
    explicit TokenTrie(const tokenizer::Tokenizer& tokenizer);

    size_t n_vocab() const { return n_vocab_; }
    size_t n_word() const { return (n_vocab_ + 63) / 64; }  // of a mask of the vocabulary
    size_t size() const { return byte_.size(); }

    uint32_t end(uint32_t node) const { return end_[node]; }
    uint16_t depth(uint32_t node) const { return depth_[node]; }      // bytes from the root
    uint16_t deepest(uint32_t node) const { return deepest_[node]; }  // depth, of the node and all below it
    uint16_t max_depth() const { return deepest_[0]; }
    uint8_t byte(uint32_t node) const { return byte_[node]; }  // the last
    std::span<const int32_t> tokens(uint32_t node) const {
        return std::span(tokens_).subspan(first_token_[node], first_token_[node + 1] - first_token_[node]);
    }
    // Of the node and all below it.
    std::span<const int32_t> all_tokens(uint32_t node) const {
        return std::span(tokens_).subspan(first_token_[node], first_token_[end_[node]] - first_token_[node]);
    }

    bool is_text(int32_t token) const { return is_text_[size_t(token)]; }

  private:
    size_t n_vocab_;
    std::vector<uint32_t> end_;
    std::vector<uint32_t> first_token_;  // [n_node + 1], into tokens_
    std::vector<uint16_t> depth_, deepest_;
    std::vector<uint8_t> byte_;
    std::vector<int32_t> tokens_;
    std::vector<bool> is_text_;
};

}  // namespace minfer::sampling::grammar
