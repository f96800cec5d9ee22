#include "model/llama/weights.h"

namespace minfer::model::llama {
namespace {

LayerWeights read_layer(WeightReader& reader, const Hyperparameters& h, size_t layer) {
    const auto linear = [&](std::string_view name, size_t n_out, size_t n_in, Bias bias) {
        return reader.linear(layer_tensor(layer, name), n_out, n_in, bias);
    };
    return {
        .attn_norm = reader.vector(layer_tensor(layer, "attn_norm.weight"), h.n_embd),
        .q = linear("attn_q", h.q_dim(), h.n_embd, Bias::Optional),
        .k = linear("attn_k", h.kv_dim(), h.n_embd, Bias::Optional),
        .v = linear("attn_v", h.kv_dim(), h.n_embd, Bias::Optional),
        .attn_output = linear("attn_output", h.n_embd, h.q_dim(), Bias::Optional),
        .ffn_norm = reader.vector(layer_tensor(layer, "ffn_norm.weight"), h.n_embd),
        .gate = linear("ffn_gate", h.n_ff, h.n_embd, Bias::Optional),
        .up = linear("ffn_up", h.n_ff, h.n_embd, Bias::Optional),
        .down = linear("ffn_down", h.n_embd, h.n_ff, Bias::Optional),
    };
}

}  // namespace

DecoderWeights read_weights(WeightReader& reader, const Hyperparameters& h) {
    return read_decoder_weights(reader, h, read_layer);
}

}  // namespace minfer::model::llama
