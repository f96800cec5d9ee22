// The numbers of a decoder that stand in a file's metadata, and how they are read and checked.
#pragma once

#include <cstdint>
#include <string>

#include "gguf/reader.h"
#include "graph/op.h"

namespace minfer::model {

struct Hyperparameters {
    std::string architecture;  // "qwen2"
    size_t n_vocab = 0;        // rows of the embedding
    size_t n_ctx_train = 0;    // tokens of the longest text that it was trained on
    size_t n_embd = 0;         // numbers of a token's vector between layers
    size_t n_layer = 0;
    size_t n_head = 0;
    size_t n_head_kv = 0;  // divides n_head; several query heads share one key head
    size_t head_dim = 0;   // numbers of a head, the same for queries, keys and values; even
    size_t n_ff = 0;       // width between the feed-forward's two matmuls
    float rms_eps = 0;
    graph::RopeParams rope;
    graph::RopeLayout rope_layout = graph::RopeLayout::Half;

    size_t q_dim() const { return n_head * head_dim; }
    size_t kv_dim() const { return n_head_kv * head_dim; }
};

// Reads the ARCHITECTURE.* keys that the architectures here share. Throws FormatError where a key is missing, where a
// number is out of range, and where two disagree (heads and key heads, embedding and heads, vocabulary and embedding
// rows), and UnsupportedError where the file asks for what no graph here computes: another RoPE scaling than none,
// linear and yarn, rotation of a part of the head, keys and values of different sizes, experts, a sliding window and
// the like. Each message names the keys.
Hyperparameters read_hyperparameters(const gguf::Gguf& file, graph::RopeLayout rope_layout);

}  // namespace minfer::model
