#include "graph/tiny_model.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "quant/encode.h"

namespace minfer::test {

using graph::Builder;
using graph::NodeId;
using graph::WeightId;

namespace {

// splitmix64, as a float in [-1, 1).
float next_float(uint64_t& state) {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return float(int64_t(z >> 40) - (1 << 23)) * 0x1p-23f;
}

}  // namespace

TinyModel::TinyModel(const TinyShape& shape, uint64_t seed) : shape_(shape) {
    uint64_t state = seed;
    const size_t dim = shape.dim(), dim_kv = shape.n_head_kv * shape.head_dim;
    embeddings_ = add("token_embd.weight", shape.n_vocab, dim, 0, state);
    for (size_t i = 0; i < shape.n_layer; ++i) {
        const auto matrix = [&](const char* name, size_t n_out, size_t n_in) {
            return add(fmt::format("blk.{}.{}.weight", i, name), n_out, n_in, 0, state);
        };
        const auto vector = [&](const char* name, size_t n, float around) {
            return add(fmt::format("blk.{}.{}", i, name), 1, n, around, state);
        };
        Layer layer{};
        layer.attn_norm = vector("attn_norm.weight", dim, 1);
        layer.q = matrix("attn_q", dim, dim);
        layer.k = matrix("attn_k", dim_kv, dim);
        layer.v = matrix("attn_v", dim_kv, dim);
        if (shape.bias) {
            layer.q_bias = vector("attn_q.bias", dim, 0);
            layer.k_bias = vector("attn_k.bias", dim_kv, 0);
            layer.v_bias = vector("attn_v.bias", dim_kv, 0);
        }
        if (shape.qk_norm) {
            layer.q_norm = vector("attn_q_norm.weight", shape.head_dim, 1);
            layer.k_norm = vector("attn_k_norm.weight", shape.head_dim, 1);
        }
        layer.attn_output = matrix("attn_output", dim, dim);
        layer.ffn_norm = vector("ffn_norm.weight", dim, 1);
        layer.gate = matrix("ffn_gate", shape.n_ff, dim);
        layer.up = matrix("ffn_up", shape.n_ff, dim);
        layer.down = matrix("ffn_down", dim, shape.n_ff);
        layers_.push_back(layer);
    }
    output_norm_ = add("output_norm.weight", 1, dim, 1, state);
    output_ = add("output.weight", shape.n_vocab, dim, 0, state);
}

WeightId TinyModel::add(const std::string& name, size_t n_out, size_t n_in, float around, uint64_t& state) {
    std::vector<float> values(n_out * n_in);
    for (float& value : values) value = around + 0.5f * next_float(state);
    const gguf::TensorType type = n_out == 1 ? gguf::TensorType::F32 : shape_.type;
    data_.emplace_back(n_out * size_t(gguf::row_bytes(type, n_in)));
    quant::encode_rows(type, values, int64_t(n_out), int64_t(n_in), data_.back(), {});
    return weights_.add({name, type, {n_out, n_in}, data_.back()});
}

kv::Layout TinyModel::layout(size_t n_cells) const {
    return {shape_.n_layer, n_cells, shape_.n_head_kv, shape_.head_dim, shape_.head_dim, kv::CellType::F32};
}

graph::GraphParams TinyModel::params(size_t n_token, size_t n_output_rows) const {
    return {n_token, n_output_rows, weights_.version()};
}

NodeId TinyModel::attention(Builder& b, size_t i, NodeId x, NodeId table) const {
    const Layer& layer = layers_[i];
    const auto name = [&](const char* part) { return fmt::format("blk.{}.{}", i, part); };
    const NodeId normed = b.rms_norm(name("attn_norm"), x, b.weight(layer.attn_norm), 1e-5f);
    NodeId q = b.matmul(name("q"), b.weight(layer.q), normed);
    NodeId k = b.matmul(name("k"), b.weight(layer.k), normed);
    NodeId v = b.matmul(name("v"), b.weight(layer.v), normed);
    if (shape_.bias) {
        q = b.add_bias(name("q_bias"), q, b.weight(layer.q_bias));
        k = b.add_bias(name("k_bias"), k, b.weight(layer.k_bias));
        v = b.add_bias(name("v_bias"), v, b.weight(layer.v_bias));
    }
    if (shape_.qk_norm) {
        q = b.rms_norm(name("q_norm"), q, b.weight(layer.q_norm), 1e-5f);
        k = b.rms_norm(name("k_norm"), k, b.weight(layer.k_norm), 1e-5f);
    }
    const graph::RopeAttributes rope{shape_.rope, shape_.head_dim};
    q = b.rope(name("q_rope"), q, table, rope);
    k = b.rope(name("k_rope"), k, table, rope);
    const NodeId stored = b.store_kv(name("store"), k, v, b.kv_cells(), i);
    const NodeId attended =
        b.attention(name("attention"), q, stored, b.cell_map(),
                    {i, shape_.n_head, shape_.n_head_kv, shape_.head_dim, 1.0f / std::sqrt(float(shape_.head_dim))});
    return b.matmul(name("attn_output"), b.weight(layer.attn_output), attended);
}

NodeId TinyModel::feed_forward(Builder& b, size_t i, NodeId x) const {
    const Layer& layer = layers_[i];
    const auto name = [&](const char* part) { return fmt::format("blk.{}.{}", i, part); };
    const NodeId normed = b.rms_norm(name("ffn_norm"), x, b.weight(layer.ffn_norm), 1e-5f);
    const NodeId gate = b.matmul(name("gate"), b.weight(layer.gate), normed);
    const NodeId up = b.matmul(name("up"), b.weight(layer.up), normed);
    const NodeId gated =
        shape_.separate_silu ? b.mul(name("gated"), b.silu(name("silu"), gate), up) : b.swiglu(name("gated"), gate, up);
    return b.matmul(name("down"), b.weight(layer.down), gated);
}

graph::Graph TinyModel::build(const graph::GraphParams& params) const {
    Builder b(weights_, params);
    NodeId x = b.get_rows("embeddings", b.weight(embeddings_), b.token_ids());
    graph::RopeParams rope;
    rope.n_rot = shape_.head_dim;
    const NodeId table = b.rope_table("rope", b.positions(), {}, rope);
    for (size_t i = 0; i < shape_.n_layer; ++i) {
        x = b.add(fmt::format("blk.{}.attn_residual", i), x, attention(b, i, x, table));
        x = b.add(fmt::format("blk.{}.ffn_residual", i), x, feed_forward(b, i, x));
    }
    if (params.n_output_rows > 0) {
        x = b.select_rows("selected", x, b.output_rows());
        x = b.rms_norm("output_norm", x, b.weight(output_norm_), 1e-5f);
        b.output(b.matmul("logits", b.weight(output_), x));
    }
    return std::move(b).finish();
}

}  // namespace minfer::test
