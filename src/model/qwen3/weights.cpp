#include "model/qwen3/weights.h"

namespace minfer::model::qwen3 {
namespace {

Layer read_layer(WeightReader& reader, const Hyperparameters& h, size_t layer) {
    return {
        .attn_norm = reader.vector(layer_tensor(layer, "attn_norm.weight"), h.n_embd),
        .attn_q = reader.matrix(layer_tensor(layer, "attn_q.weight"), h.q_dim(), h.n_embd),
        .attn_q_bias = reader.vector_if(layer_tensor(layer, "attn_q.bias"), h.q_dim()),
        .attn_q_norm = reader.vector(layer_tensor(layer, "attn_q_norm.weight"), h.head_dim),
        .attn_k = reader.matrix(layer_tensor(layer, "attn_k.weight"), h.kv_dim(), h.n_embd),
        .attn_k_bias = reader.vector_if(layer_tensor(layer, "attn_k.bias"), h.kv_dim()),
        .attn_k_norm = reader.vector(layer_tensor(layer, "attn_k_norm.weight"), h.head_dim),
        .attn_v = reader.matrix(layer_tensor(layer, "attn_v.weight"), h.kv_dim(), h.n_embd),
        .attn_v_bias = reader.vector_if(layer_tensor(layer, "attn_v.bias"), h.kv_dim()),
        .attn_output = reader.matrix(layer_tensor(layer, "attn_output.weight"), h.n_embd, h.q_dim()),
        .ffn_norm = reader.vector(layer_tensor(layer, "ffn_norm.weight"), h.n_embd),
        .ffn_gate = reader.matrix(layer_tensor(layer, "ffn_gate.weight"), h.n_ff, h.n_embd),
        .ffn_up = reader.matrix(layer_tensor(layer, "ffn_up.weight"), h.n_ff, h.n_embd),
        .ffn_down = reader.matrix(layer_tensor(layer, "ffn_down.weight"), h.n_embd, h.n_ff),
    };
}

}  // namespace

Weights read_weights(WeightReader& reader, const Hyperparameters& h) {
    Weights w{
        .token_embd = reader.matrix("token_embd.weight", h.n_vocab, h.n_embd),
        .rope_freqs = reader.vector_if("rope_freqs.weight", h.head_dim / 2),
        .layers = {},
        .output_norm = reader.vector("output_norm.weight", h.n_embd),
        .output = reader.matrix_if("output.weight", h.n_vocab, h.n_embd),
    };
    for (size_t layer = 0; layer < h.n_layer; ++layer) w.layers.push_back(read_layer(reader, h, layer));
    return w;
}

DecoderWeights decoder_weights(const Weights& weights) {
    const bool tied = weights.output == graph::kNoWeight;
    DecoderWeights d{
        .token_embd = weights.token_embd,
        .rope_freqs = weights.rope_freqs,
        .layers = {},
        .output_norm = weights.output_norm,
        .output = {tied ? weights.token_embd : weights.output},
    };
    for (const Layer& l : weights.layers)
        d.layers.push_back({
            .attn_norm = l.attn_norm,
            .q = {l.attn_q, l.attn_q_bias},
            .k = {l.attn_k, l.attn_k_bias},
            .v = {l.attn_v, l.attn_v_bias},
            .attn_output = {l.attn_output},
            .q_norm = l.attn_q_norm,
            .k_norm = l.attn_k_norm,
            .ffn_norm = l.ffn_norm,
            .gate = {l.ffn_gate},
            .up = {l.ffn_up},
            .down = {l.ffn_down},
        });
    return d;
}

}  // namespace minfer::model::qwen3
