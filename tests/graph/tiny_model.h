// A transformer of a few layers with random weights, in the shapes of qwen2, qwen3 or llama: what tests of the graph
// and of the runtime run. Its graph is built here, by hand, and not by src/model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gguf/types.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "graph/weight_table.h"
#include "kv/layout.h"

namespace minfer::test {

struct TinyShape {
    size_t n_layer = 2;
    size_t n_head = 4;
    size_t n_head_kv = 2;
    size_t head_dim = 8;
    size_t n_ff = 48;
    size_t n_vocab = 29;
    gguf::TensorType type = gguf::TensorType::F32;  // of the matrices; a quantized one needs rows of whole blocks
    bool bias = false;                              // of q, k and v: qwen2
    bool qk_norm = false;                           // a norm a head before RoPE: qwen3
    graph::RopeLayout rope = graph::RopeLayout::Half;
    bool separate_silu = true;  // Mul(Silu(gate), up), for fusion to find; else SwiGlu as the builder makes it

    size_t dim() const { return n_head * head_dim; }
};

class TinyModel {
  public:
    TinyModel(const TinyShape& shape, uint64_t seed);
    TinyModel(const TinyModel&) = delete;
    TinyModel& operator=(const TinyModel&) = delete;

    const TinyShape& shape() const { return shape_; }
    const graph::WeightTable& weights() const { return weights_; }
    kv::Layout layout(size_t n_cells) const;
    graph::GraphParams params(size_t n_token, size_t n_output_rows) const;
    // One output, the logits [n_output_rows][n_vocab]; none without output rows.
    graph::Graph build(const graph::GraphParams& params) const;

  private:
    struct Layer {
        graph::WeightId attn_norm, q, k, v, q_bias, k_bias, v_bias, q_norm, k_norm, attn_output, ffn_norm, gate, up,
            down;
    };
    graph::WeightId add(const std::string& name, size_t n_out, size_t n_in, float around, uint64_t& state);
    graph::NodeId attention(graph::Builder& builder, size_t layer, graph::NodeId x, graph::NodeId table) const;
    graph::NodeId feed_forward(graph::Builder& builder, size_t layer, graph::NodeId x) const;

    TinyShape shape_;
    std::vector<std::vector<std::byte>> data_;
    graph::WeightTable weights_;
    graph::WeightId embeddings_, output_norm_, output_;
    std::vector<Layer> layers_;
};

}  // namespace minfer::test
