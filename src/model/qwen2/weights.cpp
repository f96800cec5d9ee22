#include "model/qwen2/weights.h"

namespace minfer::model::qwen2 {
namespace {

LayerWeights read_layer(WeightReader& reader, const Hyperparameters& h, size_t layer) {
    const auto linear = [&](std::string_view name, size_t n_out, size_t n_in, Bias bias) {
        return reader.linear(layer_tensor(layer, name), n_out, n_in, bias);
    };
    return {
        .attn_norm = reader.vector(layer_tensor(layer, "attn_norm.weight"), h.n_embd),
        .q = linear("attn_q", h.n_embd, h.n_embd, Bias::Required),
        .k = linear("attn_k", h.kv_dim(), h.n_embd, Bias::Required),
        .v = linear("attn_v", h.kv_dim(), h.n_embd, Bias::Required),
        .attn_output = linear("attn_output", h.n_embd, h.n_embd, Bias::None),
        .ffn_norm = reader.vector(layer_tensor(layer, "ffn_norm.weight"), h.n_embd),
        .gate = linear("ffn_gate", h.n_ff, h.n_embd, Bias::None),
        .up = linear("ffn_up", h.n_ff, h.n_embd, Bias::None),
        .down = linear("ffn_down", h.n_embd, h.n_ff, Bias::None),
    };
}

}  // namespace

DecoderWeights read_weights(WeightReader& reader, const Hyperparameters& h) {
    DecoderWeights w = read_decoder_weights(reader, h, read_layer);
    w.output.bias = reader.vector_if("output.bias", h.n_vocab);
    return w;
}

}  // namespace minfer::model::qwen2
