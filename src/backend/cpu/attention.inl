// One query over one tile of up to 64 keys. docs/numerics.md, "Attention".

// out[0 .. 15]: q times the 16 keys, each a reduction of 16 lanes.
inline Vec scores_of_16(const float* q, const float* const* k, size_t head_dim) {
    Vec sums[16];
    for (int first_key = 0; first_key < 16; first_key += kKeysAtOnce) {
        Vec acc[kKeysAtOnce];
        for (int j = 0; j < kKeysAtOnce; ++j) acc[j] = zero();
        size_t i = 0;
        for (; i + 16 <= head_dim; i += 16) {
            const Vec query = load(q + i);
#pragma GCC unroll 16
            for (int j = 0; j < kKeysAtOnce; ++j) acc[j] = fma(query, load(k[first_key + j] + i), acc[j]);
        }
        if (i < head_dim) {  // past the end +0 * +0: it can only turn a sum of -0 into +0, and exp(-0) = exp(+0)
            const Vec query = load(q + i, head_dim - i);
            for (int j = 0; j < kKeysAtOnce; ++j) acc[j] = fma(query, load(k[first_key + j] + i, head_dim - i), acc[j]);
        }
        for (int j = 0; j < kKeysAtOnce; ++j) sums[first_key + j] = acc[j];
    }
    return trees(sums);
}

// out[i .. i + 16 n) = the chains over all keys; n vectors side by side to hide the latency of fma.
template <int n>
inline void weighted_values(const float* weights, const float* const* v, size_t n_key, size_t i, float* out) {
    Vec acc[n];
    for (int j = 0; j < n; ++j) acc[j] = zero();
    for (size_t key = 0; key < n_key; ++key) {
        const Vec w = all(weights[key]);
        const float* value = v[key] + i;
#pragma GCC unroll 16
        for (int j = 0; j < n; ++j) acc[j] = fma(w, load(value + 16 * j), acc[j]);
    }
    for (int j = 0; j < n; ++j) store(acc[j], out + i + size_t(16 * j));
}

TileResult attention_tile(const float* q, const float* const* k, const float* const* v, size_t n_key, size_t head_dim,
                          float scale, float* out) {
    alignas(64) float scores[kAttentionTile];
    const float* keys[16];
    Vec largest = all(-__builtin_inff());
    for (size_t i = 0; i < n_key; i += 16) {
        // Where fewer than 16 keys are left, the last stands in for the missing ones, and its scores are dropped.
        for (size_t j = 0; j < 16; ++j) keys[j] = k[i + j < n_key ? i + j : n_key - 1];
        const Vec s = scores_of_16(q, keys, head_dim) * all(scale);
        store(s, scores + i);
        largest = max(keep_first(s, n_key - i, all(-__builtin_inff())), largest);  // a NaN score is passed over
    }
    alignas(64) float lanes[16];
    store(largest, lanes);
    float tile_max = lanes[0];
    for (int i = 1; i < 16; ++i) tile_max = lanes[i] > tile_max ? lanes[i] : tile_max;
    Vec sum = zero();
    for (size_t i = 0; i < n_key; i += 16) {
        const Vec e = keep_first(exp(load(scores + i) - all(tile_max)), n_key - i, zero());
        store(e, scores + i);
        sum = sum + e;
    }
    size_t i = 0;
    for (; i + 128 <= head_dim; i += 128) weighted_values<8>(scores, v, n_key, i, out);
    for (; i + 64 <= head_dim; i += 64) weighted_values<4>(scores, v, n_key, i, out);
    for (; i + 16 <= head_dim; i += 16) weighted_values<1>(scores, v, n_key, i, out);
    if (i < head_dim) {
        Vec acc = zero();
        for (size_t key = 0; key < n_key; ++key) acc = fma(all(scores[key]), load(v[key] + i, head_dim - i), acc);
        store(acc, out + i, head_dim - i);
    }
    return {tile_max, tree(sum)};
}

void attention_merge(TileResult* total, float* out, TileResult next, const float* next_out, size_t head_dim) {
    const float largest = next.max > total->max ? next.max : total->max;
    const Vec a = all(exp(total->max - largest)), b = all(exp(next.max - largest));
    total->max = largest;
    total->sum = first_lane(fma(all(next.sum), b, all(total->sum) * a));
    for (size_t i = 0; i < head_dim; i += 16) {
        const size_t n = head_dim - i;
        store(fma(load(next_out + i, n), b, load(out + i, n) * a), out + i, n);
    }
}

void attention_finish(float sum, float* out, size_t head_dim) {
    for (size_t i = 0; i < head_dim; i += 16) store(load(out + i, head_dim - i) / all(sum), out + i, head_dim - i);
}
