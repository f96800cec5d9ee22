// Queries over one tile of up to 64 keys. docs/numerics.md, "Attention".

// The keys of a tile with a lane a key: across[d * 64 + i] = k[i][d]. Where there are fewer than 64, the last stands in
// for the missing ones.
void attention_across(const float* const* k, size_t n_key, size_t head_dim, float* across) {
    for (size_t i = 0; i < kAttentionTile; i += 16) {
        const float* keys[16];
        for (size_t j = 0; j < 16; ++j) keys[j] = k[i + j < n_key ? i + j : n_key - 1];
        size_t d = 0;
        for (; d + 4 <= head_dim; d += 4) {
            VecI columns[4];
            transpose_rows(load_rows(keys, d), load_rows(keys + 1, d), load_rows(keys + 2, d), load_rows(keys + 3, d),
                           columns);
            for (size_t c = 0; c < 4; ++c) store_bytes(columns[c], across + (d + c) * kAttentionTile + i);
        }
        for (; d < head_dim; ++d)
            for (size_t j = 0; j < 16; ++j) across[d * kAttentionTile + i + j] = keys[j][d];
    }
}

// A reduction's 16 lanes in the order in which its tree meets them: each half of them, each quarter and so on is a
// branch.
constexpr uint8_t kTreeOrder[16] = {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};

// What `count` lanes from kTreeOrder[first] on add to n queries times 16 m keys. A lane of a product is a vector here,
// its lanes are keys, so the tree needs no shuffle. Recursion writes the tree out with its sums in registers, where a
// loop over lanes kept them in memory; all of it is one function's loop nest, and so inlined.
template <int first, int count, int n, int m>
__attribute__((always_inline)) inline void branch_across(const float* const* q, const float* across, size_t head_dim,
                                                         Vec (&sum)[n][m]) {
    if constexpr (count > kLanesAtOnce) {
        Vec second[n][m];
        branch_across<first, count / 2>(q, across, head_dim, sum);
        branch_across<first + count / 2, count / 2>(q, across, head_dim, second);
#pragma GCC unroll 16
        for (int i = 0; i < n; ++i)
#pragma GCC unroll 16
            for (int b = 0; b < m; ++b) sum[i][b] = sum[i][b] + second[i][b];
    } else {
        static_assert(count <= 2);
        Vec lanes[count][n][m];
#pragma GCC unroll 16
        for (int l = 0; l < count; ++l)
#pragma GCC unroll 16
            for (int i = 0; i < n; ++i)
#pragma GCC unroll 16
                for (int b = 0; b < m; ++b) lanes[l][i][b] = zero();
        const auto add_products = [&](int l, size_t d) __attribute__((always_inline)) {
            Vec keys[m];
#pragma GCC unroll 16
            for (int b = 0; b < m; ++b) keys[b] = load(across + d * kAttentionTile + size_t(16 * b));
#pragma GCC unroll 16
            for (int i = 0; i < n; ++i) {
                const Vec query = all(q[i][d]);
#pragma GCC unroll 16
                for (int b = 0; b < m; ++b) lanes[l][i][b] = fma(query, keys[b], lanes[l][i][b]);
            }
        };
        size_t row = 0;
        for (; row + 16 <= head_dim; row += 16) {
#pragma GCC unroll 16
            for (int l = 0; l < count; ++l) add_products(l, row + kTreeOrder[first + l]);
        }
#pragma GCC unroll 16
        for (int l = 0; l < count; ++l)
            if (row + kTreeOrder[first + l] < head_dim) add_products(l, row + kTreeOrder[first + l]);
#pragma GCC unroll 16
        for (int i = 0; i < n; ++i)
#pragma GCC unroll 16
            for (int b = 0; b < m; ++b)
                sum[i][b] = count == 2 ? lanes[0][i][b] + lanes[count - 1][i][b] : lanes[0][i][b];
    }
}

// scores[64 i .. 64 i + 16 m) = query i times 16 m keys.
template <int n, int m>
inline void scores_across(const float* const* q, const float* across, size_t head_dim, float* scores) {
    Vec sum[n][m];
    branch_across<0, 16>(q, across, head_dim, sum);
    for (int i = 0; i < n; ++i)
        for (int b = 0; b < m; ++b) store(sum[i][b], scores + size_t(i) * kAttentionTile + 16 * b);
}

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

// Scores, not yet scaled, to weights.
inline TileResult softmax_of_tile(float* scores, size_t n_key, float scale) {
    Vec largest = all(-__builtin_inff());
    for (size_t i = 0; i < n_key; i += 16) {
        const Vec s = load(scores + i) * all(scale);
        store(s, scores + i);
        largest = max(keep_first(s, n_key - i, all(-__builtin_inff())), largest);  // a NaN score is passed over
    }
    const float tile_max = max_lane(largest);
    Vec sum = zero();
    for (size_t i = 0; i < n_key; i += 16) {
        const Vec e = keep_first(exp(load(scores + i) - all(tile_max)), n_key - i, zero());
        store(e, scores + i);
        sum = sum + e;
    }
    return {tile_max, tree(sum)};
}

// out[j][d .. d + 16 m) = the chains of n queries over keys begin .. end, which go on from `out` unless begin is 0.
template <int n, int m>
inline void weighted_values(const float (*weights)[kAttentionTile], const float* const* v, size_t begin, size_t end,
                            size_t d, float* const* out) {
    Vec acc[n][m];
    for (int j = 0; j < n; ++j)
        for (int b = 0; b < m; ++b) acc[j][b] = begin == 0 ? zero() : load(out[j] + d + size_t(16 * b));
    for (size_t key = begin; key < end; ++key) {
        Vec values[m];
        for (int b = 0; b < m; ++b) values[b] = load(v[key] + d + size_t(16 * b));
#pragma GCC unroll 16
        for (int j = 0; j < n; ++j) {
            const Vec w = all(weights[j][key]);
#pragma GCC unroll 16
            for (int b = 0; b < m; ++b) acc[j][b] = fma(w, values[b], acc[j][b]);
        }
    }
    for (int j = 0; j < n; ++j)
        for (int b = 0; b < m; ++b) store(acc[j][b], out[j] + d + size_t(16 * b));
}

template <int n>
inline void weighted_rows(const float (*weights)[kAttentionTile], const float* const* v, size_t begin, size_t end,
                          size_t head_dim, float* const* out) {
    size_t d = 0;
    if constexpr (n == 1)  // one query alone needs twice the values for as many chains
        for (; d + 32 * kValuesAtOnce <= head_dim; d += 32 * kValuesAtOnce)
            weighted_values<1, 2 * kValuesAtOnce>(weights, v, begin, end, d, out);
    for (; d + 16 * kValuesAtOnce <= head_dim; d += 16 * kValuesAtOnce)
        weighted_values<n, kValuesAtOnce>(weights, v, begin, end, d, out);
    for (; d + 16 <= head_dim; d += 16) weighted_values<n, 1>(weights, v, begin, end, d, out);
    if (d == head_dim) return;
    for (int j = 0; j < n; ++j) {
        Vec acc = begin == 0 ? zero() : load(out[j] + d, head_dim - d);
        for (size_t key = begin; key < end; ++key) acc = fma(all(weights[j][key]), load(v[key] + d, head_dim - d), acc);
        store(acc, out[j] + d, head_dim - d);
    }
}

template <int n>
inline void queries_over_tile(const TileQuery* queries, const float* const* k, const float* const* v,
                              const float* across, size_t head_dim, float scale) {
    alignas(64) float scores[n][kAttentionTile];
    const float* q[n];
    float* out[n];
    size_t least = kAttentionTile, most = 0;
    for (int i = 0; i < n; ++i) {
        q[i] = queries[i].q;
        out[i] = queries[i].out;
        least = queries[i].n_key < least ? queries[i].n_key : least;
        most = queries[i].n_key > most ? queries[i].n_key : most;
    }
    if (across) {
        constexpr int kVectors = n == 1 ? 4 : 2;
        for (size_t key = 0; key < most; key += 16 * kVectors)
            scores_across<n, kVectors>(q, across + key, head_dim, &scores[0][key]);
    } else {
        for (size_t key = 0; key < most; key += 16) {
            const float* keys[16];  // where fewer are left, the last stands in for the missing ones
            for (size_t j = 0; j < 16; ++j) keys[j] = k[key + j < most ? key + j : most - 1];
            for (int i = 0; i < n; ++i) store(scores_of_16(q[i], keys, head_dim), scores[i] + key);
        }
    }
    for (int i = 0; i < n; ++i) *queries[i].result = softmax_of_tile(scores[i], queries[i].n_key, scale);
    // What all of them see, side by side; then the rest of each.
    weighted_rows<n>(scores, v, 0, least, head_dim, out);
    if (least == most) return;
    for (int i = 0; i < n; ++i)
        if (queries[i].n_key > least) weighted_rows<1>(scores + i, v, least, queries[i].n_key, head_dim, out + i);
}

void attention_tile(const TileQuery* queries, size_t n_query, const float* const* k, const float* const* v,
                    const float* across, size_t head_dim, float scale) {
    size_t i = 0;
    for (; i + kQueriesAtOnce <= n_query; i += kQueriesAtOnce)
        queries_over_tile<kQueriesAtOnce>(queries + i, k, v, across, head_dim, scale);
    if constexpr (kQueriesAtOnce > 3)
        for (; i + 3 <= n_query; i += 3) queries_over_tile<3>(queries + i, k, v, across, head_dim, scale);
    if constexpr (kQueriesAtOnce > 2)
        for (; i + 2 <= n_query; i += 2) queries_over_tile<2>(queries + i, k, v, across, head_dim, scale);
    for (; i < n_query; ++i) queries_over_tile<1>(queries + i, k, v, across, head_dim, scale);
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
