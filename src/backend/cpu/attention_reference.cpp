#include <cmath>
#include <limits>

#include "backend/cpu/attention.h"
#include "base/canonical_math.h"

namespace minfer::cpu {

namespace {

float tree(float (&lane)[16]) {
    for (size_t half = 8; half > 0; half /= 2)
        for (size_t i = 0; i < half; ++i) lane[i] += lane[i + half];
    return lane[0];
}

TileResult one_query(const float* q, const float* const* k, const float* const* v, size_t n_key, size_t head_dim,
                     float scale, float* out) {
    float weight[kAttentionTile];
    float max = -std::numeric_limits<float>::infinity();
    for (size_t key = 0; key < n_key; ++key) {
        float lane[16] = {};
        for (size_t i = 0; i < head_dim; ++i) lane[i % 16] = std::fma(q[i], k[key][i], lane[i % 16]);
        const float score = tree(lane) * scale;
        weight[key] = score;
        if (score > max) max = score;
    }
    float lane[16] = {};
    for (size_t key = 0; key < n_key; ++key) {
        weight[key] = canonical_exp(weight[key] - max);
        lane[key % 16] += weight[key];
    }
    for (size_t i = 0; i < head_dim; ++i) {
        float acc = 0;
        for (size_t key = 0; key < n_key; ++key) acc = std::fma(weight[key], v[key][i], acc);
        out[i] = acc;
    }
    return {max, tree(lane)};
}

}  // namespace

void attention_tile_reference(const TileQuery* queries, size_t n_query, const float* const* k, const float* const* v,
                              const float*, size_t head_dim, float scale) {
    for (size_t i = 0; i < n_query; ++i) {
        const TileQuery& query = queries[i];
        *query.result = one_query(query.q, k, v, query.n_key, head_dim, scale, query.out);
    }
}

void attention_merge_reference(TileResult* total, float* out, TileResult next, const float* next_out, size_t head_dim) {
    const float max = next.max > total->max ? next.max : total->max;
    const float a = canonical_exp(total->max - max), b = canonical_exp(next.max - max);
    total->max = max;
    total->sum = std::fma(next.sum, b, total->sum * a);
    for (size_t i = 0; i < head_dim; ++i) out[i] = std::fma(next_out[i], b, out[i] * a);
}

void attention_finish_reference(float sum, float* out, size_t head_dim) {
    for (size_t i = 0; i < head_dim; ++i) out[i] = out[i] / sum;
}

}  // namespace minfer::cpu
