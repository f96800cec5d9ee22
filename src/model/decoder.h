// The decoder that the architectures share: RMS norms before attention and feed-forward, RoPE, grouped-query attention,
// SwiGLU, residual sums. Touvron et al., "LLaMA", 2023.
//
//   x = embedding[token]
//   each layer:  x = x + attention(norm(x));  x = x + down(silu(gate(norm(x))) * up(norm(x)))
//   logits = output(norm(x))
#pragma once

#include <memory>
#include <vector>

#include "graph/graph.h"
#include "graph/weight_table.h"
#include "model/hyperparameters.h"
#include "model/model.h"
#include "model/weight_reader.h"

namespace minfer::model {

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

// The weights of a file whose layers are read by an architecture's own `read_layer`. Throws as WeightReader does.
DecoderWeights read_decoder_weights(WeightReader& reader, const Hyperparameters& h,
                                    LayerWeights (*read_layer)(WeightReader& reader, const Hyperparameters& h,
                                                               size_t layer));

// A model whose forward pass is the decoder above.
std::unique_ptr<Model> make_decoder(Hyperparameters hyperparameters, graph::WeightTable table, DecoderWeights weights);

}  // namespace minfer::model
