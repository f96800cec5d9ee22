#include "model/decoder.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "graph/builder.h"

namespace minfer::model {
namespace {

using graph::NodeId;

class DecoderBuilder {
  public:
    DecoderBuilder(const Hyperparameters& h, const graph::WeightTable& table, const DecoderWeights& weights,
                   const graph::GraphParams& params)
        : h_(h), weights_(weights), b_(table, params) {}

    graph::Graph build() {
        NodeId x = b_.get_rows("embedding", b_.weight(weights_.token_embd), b_.token_ids());
        std::optional<NodeId> factors;
        if (weights_.rope_freqs != graph::kNoWeight) factors = b_.weight(weights_.rope_freqs);
        rope_table_ = b_.rope_table("rope_table", b_.positions(), factors, h_.rope);
        for (size_t layer = 0; layer + 1 < h_.n_layer; ++layer) {
            const auto [query, stored] = project(layer, x);
            x = b_.add(name(layer, "attn_residual"), attend(layer, query, stored), x);
            x = feed_forward(layer, x);
        }
        return last_layer(x);
    }

  private:
    struct Projected {
        NodeId query;   // [n_token][n_head * head_dim], rotated
        NodeId stored;  // the effect of writing keys and values to their cells
    };

    // A batch's logits are wanted for few rows, often for none: the last layer computes nothing for the others beyond
    // their keys and values.
    graph::Graph last_layer(NodeId x) {
        const size_t layer = h_.n_layer - 1;
        const size_t n_output_rows = b_.params().n_output_rows;
        if (n_output_rows == 0) {
            project_keys_and_values(layer, norm(layer, "attn_norm", x, weights_.layers[layer].attn_norm));
            return std::move(b_).finish();
        }
        const auto [query, stored] = project(layer, x);
        NodeId attended = b_.attention(name(layer, "attn"), query, stored, b_.cell_map(), attention_attributes(layer));
        if (b_.params().n_token > 1) {  // of one token there is but one row to select
            attended = b_.select_rows(name(layer, "attn_rows"), attended, b_.output_rows());
            x = b_.select_rows(name(layer, "residual_rows"), x, b_.output_rows());
        }
        x = b_.add(name(layer, "attn_residual"),
                   linear(name(layer, "attn_output"), weights_.layers[layer].attn_output, attended), x);
        x = feed_forward(layer, x);
        x = b_.rms_norm("output_norm", x, b_.weight(weights_.output_norm), h_.rms_eps);
        b_.output(linear("logits", weights_.output, x));
        return std::move(b_).finish();
    }

    NodeId project_keys_and_values(size_t layer, NodeId normed) {
        const LayerWeights& w = weights_.layers[layer];
        NodeId k = linear(name(layer, "attn_k"), w.k, normed);
        if (w.k_norm != graph::kNoWeight) k = norm(layer, "attn_k_norm", k, w.k_norm);
        k = b_.rope(name(layer, "k_rope"), k, rope_table_, {h_.rope_layout, h_.head_dim});
        const NodeId v = linear(name(layer, "attn_v"), w.v, normed);
        return b_.store_kv(name(layer, "store_kv"), k, v, b_.kv_cells(), layer);
    }

    Projected project(size_t layer, NodeId x) {
        const LayerWeights& w = weights_.layers[layer];
        const NodeId normed = norm(layer, "attn_norm", x, w.attn_norm);
        NodeId q = linear(name(layer, "attn_q"), w.q, normed);
        if (w.q_norm != graph::kNoWeight) q = norm(layer, "attn_q_norm", q, w.q_norm);
        q = b_.rope(name(layer, "q_rope"), q, rope_table_, {h_.rope_layout, h_.head_dim});
        return {q, project_keys_and_values(layer, normed)};
    }

    NodeId attend(size_t layer, NodeId query, NodeId stored) {
        const NodeId attended =
            b_.attention(name(layer, "attn"), query, stored, b_.cell_map(), attention_attributes(layer));
        return linear(name(layer, "attn_output"), weights_.layers[layer].attn_output, attended);
    }

    NodeId feed_forward(size_t layer, NodeId x) {
        const LayerWeights& w = weights_.layers[layer];
        const NodeId normed = norm(layer, "ffn_norm", x, w.ffn_norm);
        const NodeId gate = b_.silu(name(layer, "ffn_silu"), linear(name(layer, "ffn_gate"), w.gate, normed));
        const NodeId hidden = b_.mul(name(layer, "ffn_mul"), gate, linear(name(layer, "ffn_up"), w.up, normed));
        return b_.add(name(layer, "ffn_residual"), linear(name(layer, "ffn_down"), w.down, hidden), x);
    }

    NodeId norm(size_t layer, std::string_view what, NodeId x, graph::WeightId weight) {
        return b_.rms_norm(name(layer, what), x, b_.weight(weight), h_.rms_eps);
    }

    NodeId linear(const std::string& what, const Linear& l, NodeId x) {
        const NodeId product = b_.matmul(what, b_.weight(l.weight), x);
        if (l.bias == graph::kNoWeight) return product;
        return b_.add_bias(what + "_bias", product, b_.weight(l.bias));
    }

    graph::AttentionAttributes attention_attributes(size_t layer) const {
        return {layer, h_.n_head, h_.n_head_kv, h_.head_dim, 1.0f / std::sqrt(float(h_.head_dim))};
    }

    static std::string name(size_t layer, std::string_view what) { return layer_tensor(layer, what); }

    const Hyperparameters& h_;
    const DecoderWeights& weights_;
    graph::Builder b_;
    NodeId rope_table_{};
};

class Decoder final : public Model {
  public:
    Decoder(Hyperparameters hyperparameters, graph::WeightTable table, DecoderWeights weights)
        : Model(std::move(hyperparameters), std::move(table)), weights_(std::move(weights)) {}

    graph::Graph build_graph(const graph::GraphParams& params) const override {
        return DecoderBuilder(hyperparameters(), weights(), weights_, params).build();
    }

  private:
    DecoderWeights weights_;
};

}  // namespace

DecoderWeights read_decoder_weights(WeightReader& reader, const Hyperparameters& h,
                                    LayerWeights (*read_layer)(WeightReader& reader, const Hyperparameters& h,
                                                               size_t layer)) {
    DecoderWeights w{
        .token_embd = reader.matrix("token_embd.weight", h.n_vocab, h.n_embd),
        .rope_freqs = reader.vector_if("rope_freqs.weight", h.head_dim / 2),
        .layers = {},
        .output_norm = reader.vector("output_norm.weight", h.n_embd),
        .output = {.weight = reader.matrix_if("output.weight", h.n_vocab, h.n_embd)},
    };
    if (w.output.weight == graph::kNoWeight) w.output.weight = w.token_embd;
    for (size_t layer = 0; layer < h.n_layer; ++layer) w.layers.push_back(read_layer(reader, h, layer));
    return w;
}

std::unique_ptr<Model> make_decoder(Hyperparameters hyperparameters, graph::WeightTable table, DecoderWeights weights) {
    return std::make_unique<Decoder>(std::move(hyperparameters), std::move(table), std::move(weights));
}

}  // namespace minfer::model
