// The decoder that the architectures share: RMS norms before attention and feed-forward, RoPE, grouped-query attention,
// SwiGLU, residual sums. Touvron et al., "LLaMA", 2023.
//
//   x = embedding[token]
//   each layer:  x = x + attention(norm(x));  x = x + down(silu(gate(norm(x))) * up(norm(x)))
//   logits = output(norm(x))
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/weight_table.h"
#include "model/hyperparameters.h"

namespace minfer::model {

// y = weight x + bias.
struct Linear {
    graph::WeightId weight;                   // [n_out][n_in]
    graph::WeightId bias = graph::kNoWeight;  // [n_out]; may be absent
};

struct LayerWeights {
    graph::WeightId attn_norm;                  // [n_embd]
    Linear q;                                   // [n_head * head_dim][n_embd]
    Linear k;                                   // [n_head_kv * head_dim][n_embd]
    Linear v;                                   // [n_head_kv * head_dim][n_embd]
    Linear attn_output;                         // [n_embd][n_head * head_dim]
    graph::WeightId q_norm = graph::kNoWeight;  // [head_dim], of each query head before RoPE; may be absent
    graph::WeightId k_norm = graph::kNoWeight;  // [head_dim], of each key head before RoPE; may be absent
    graph::WeightId ffn_norm;                   // [n_embd]
    Linear gate;                                // [n_ff][n_embd]
    Linear up;                                  // [n_ff][n_embd]
    Linear down;                                // [n_embd][n_ff]
};

struct DecoderWeights {
    graph::WeightId token_embd;                     // [n_vocab][n_embd]
    graph::WeightId rope_freqs = graph::kNoWeight;  // [head_dim / 2], divisors of RoPE's frequencies; may be absent
    std::vector<LayerWeights> layers;               // [n_layer]
    graph::WeightId output_norm;                    // [n_embd]
    Linear output;                                  // [n_vocab][n_embd]; the weight is token_embd where it is tied
};

graph::Graph build_decoder(const Hyperparameters& hyperparameters, const graph::WeightTable& table,
                           const DecoderWeights& weights, const graph::GraphParams& params);

}  // namespace minfer::model
