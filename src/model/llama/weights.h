// The tensors of a llama file. Shapes are [n_out][n_in], memory is row-major; a field that may be kNoWeight says so.
#pragma once

#include <vector>

#include "graph/weight_table.h"
#include "model/decoder.h"
#include "model/hyperparameters.h"
#include "model/weight_reader.h"

namespace minfer::model::llama {

// blk.N.*
struct Layer {
    graph::WeightId attn_norm;         // [n_embd]
    graph::WeightId attn_q;            // [n_head * head_dim][n_embd], rows permuted to adjacent pairs
    graph::WeightId attn_q_bias;       // [n_head * head_dim]; may be absent, as may the other biases
    graph::WeightId attn_k;            // [n_head_kv * head_dim][n_embd], permuted likewise
    graph::WeightId attn_k_bias;       // [n_head_kv * head_dim]; may be absent
    graph::WeightId attn_v;            // [n_head_kv * head_dim][n_embd]
    graph::WeightId attn_v_bias;       // [n_head_kv * head_dim]; may be absent
    graph::WeightId attn_output;       // [n_embd][n_head * head_dim]
    graph::WeightId attn_output_bias;  // [n_embd]; may be absent
    graph::WeightId ffn_norm;          // [n_embd]
    graph::WeightId ffn_gate;          // [n_ff][n_embd]
    graph::WeightId ffn_gate_bias;     // [n_ff]; may be absent
    graph::WeightId ffn_up;            // [n_ff][n_embd]
    graph::WeightId ffn_up_bias;       // [n_ff]; may be absent
    graph::WeightId ffn_down;          // [n_embd][n_ff]
    graph::WeightId ffn_down_bias;     // [n_embd]; may be absent
};

struct Weights {
    graph::WeightId token_embd;   // [n_vocab][n_embd]
    graph::WeightId rope_freqs;   // [head_dim / 2], Llama 3.1 and later; may be absent
    std::vector<Layer> layers;    // [n_layer]
    graph::WeightId output_norm;  // [n_embd]
    graph::WeightId output;       // [n_vocab][n_embd]; may be absent: then token_embd is used
};

// Throws as WeightReader does.
Weights read_weights(WeightReader& reader, const Hyperparameters& h);

// The same weights in their places of the shared decoder.
DecoderWeights decoder_weights(const Weights& weights);

}  // namespace minfer::model::llama
