// Many tokens over a panel of integers with SMMLA, which adds the products of two rows with two tokens, eight values
// each: twice what SDOT does. The weights are [block / 8][8 pairs of rows][2 rows][8], and a register of sums is
// [2 rows][2 tokens]. Eight rows by four tokens are 8 sums, as many that are multiplied already and floats.

// Minimums are [n_group / 8][8 pairs of rows][2 rows][8] int8, for they are multiplied as the weights are.
template <class Type>
using Panel = SignedPanel<Type, 1>;
template <class Type>
constexpr size_t kPanelBlockBytes = Panel<Type>::kBytes;

// Eight bytes of each row, as two quads, in the order of the weights.
inline void store_octets(VecI first_quad, VecI second_quad, std::byte* to) {
    const VecI even = unpack_low32(first_quad, second_quad), odd = unpack_high32(first_quad, second_quad);
    for (size_t i = 0; i < 4; ++i, to += 32) {
        vst1q_u8(reinterpret_cast<uint8_t*>(to), even.q[i]);
        vst1q_u8(reinterpret_cast<uint8_t*>(to + 16), odd.q[i]);
    }
}
// The four minimums of two vectors of BlockOfRows, which are below 64, as bytes.
inline VecI minimums_as_bytes(VecI first_pair, VecI second_pair) {
    const VecI low = (first_pair | shift_right32<8>(first_pair)) & all32(0xffff);
    return low | shift_left32<16>(second_pair | shift_right32<8>(second_pair));
}

template <class Type>
inline void write_block(const BlockOfRows<Type>& block, std::byte* to) {
    using P = Panel<Type>;
    for (size_t i = 0; i < P::kLayout.block / 8; ++i)
        store_octets(signed_weights<Type>(block, 2 * i), signed_weights<Type>(block, 2 * i + 1), to + 128 * i);
    if constexpr (P::kMinimums)
        for (size_t i = 0; i < P::kLayout.n_group / 8; ++i) {
            const VecI* m = block.minimums + 4 * i;
            store_octets(minimums_as_bytes(m[0], m[1]), minimums_as_bytes(m[2], m[3]), to + P::kMinimumsAt + 128 * i);
        }
    write_scales<P>(block, to);
}

// A group of tokens in eights of values and, with blocks of 256, the sums of groups of q behind it, 128 * high + low,
// for a sum of 32 is no byte:
//   sums [n_block][3][2][16 tokens][8] int8: low and high, of the groups of 32, the first 8 groups of 16, the others
constexpr size_t kSumBytes = 3 * 2 * kTokenGroup * 8;
size_t arranged_bytes(size_t n_in, size_t block) {
    return group_bytes(n_in, block) + (block == 32 ? 0 : n_in / block * kSumBytes);
}
inline void split_sums(const int16_t* sums, std::byte* to) {
    const int16x8_t s = vld1q_s16(sums);
    vst1_s8(reinterpret_cast<int8_t*>(to), vmovn_s16(s & vdupq_n_s16(127)));
    vst1_s8(reinterpret_cast<int8_t*>(to + 8 * kTokenGroup), vmovn_s16(vshrq_n_s16(s, 7)));
}
void arrange(const QuantizedRow& row, size_t n_in, size_t block, size_t token, std::byte* group) {
    arrange_bytes<8>(row.q, n_in, token, group);
    arrange_floats(row, n_in, block, token, group);
    if (block == 32) return;
    const int16_t *sums16 = row.sums16, *sums32 = row.sums32;
    std::byte* to = group + group_bytes(n_in, block) + token * 8;
    for (size_t b = 0; b < n_in / block; ++b, to += kSumBytes, sums16 += 16, sums32 += 8) {
        split_sums(sums32, to);
        split_sums(sums16, to + kSumBytes / 3);
        split_sums(sums16 + 8, to + kSumBytes / 3 * 2);
    }
}
constexpr ArrangedBytes kArrangedBytes = &arranged_bytes;
constexpr Arrange kArrange = &arrange;

// Of eight rows, four pairs: each row's number twice, to meet two tokens.
inline void each_row_twice(const std::byte* p, float32x4_t (&pairs)[4]) {
    const float32x4_t low = floats_at(p), high = floats_at(p + 16);
    pairs[0] = vzip1q_f32(low, low), pairs[1] = vzip2q_f32(low, low);
    pairs[2] = vzip1q_f32(high, high), pairs[3] = vzip2q_f32(high, high);
}
// Two tokens' numbers twice, to meet two rows.
inline float32x4_t both_tokens_twice(const float* p) { return vcombine_f32(vld1_f32(p), vld1_f32(p)); }

// sum[t][p] += eight values of the pairs p of rows times the pairs t of tokens.
template <int n>
inline void add_octet(const std::byte* w, const std::byte* a, int32x4_t (&sum)[n][4]) {
    int8x16_t rows[4];
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p) rows[p] = bytes_at(w + 16 * p);
#pragma GCC unroll 2
    for (int t = 0; t < n; ++t) {
        const int8x16_t tokens = bytes_at(a + 16 * t);
#pragma GCC unroll 4
        for (int p = 0; p < 4; ++p) sum[t][p] = vmmlaq_s32(sum[t][p], rows[p], tokens);
    }
}

// Rows 8 half .. 8 half + 7 of one panel; n pairs of tokens from place `token` of the group on, of which the first
// n_token are there.
template <class Type, int n>
inline void half_panel(const std::byte* panel, size_t half, size_t n_in, const std::byte* group, size_t token,
                       size_t n_token, float* out, size_t out_stride) {
    using P = Panel<Type>;
    constexpr size_t kBlock = P::kLayout.block;
    const size_t n_block = n_in / kBlock;
    const std::byte* a = group + token * 8;
    const auto* d_a = reinterpret_cast<const float*>(group + n_in * kTokenGroup) + token;
    const float* float_sums = d_a + n_block * kTokenGroup;  // with blocks of 32
    const std::byte* sums = group + group_bytes(n_in, kBlock) + token * 8 +
                            (P::kLayout.group == 16 ? kSumBytes / 3 : 0);  // with blocks of 256
    float32x4_t acc[n][4];
#pragma GCC unroll 2
    for (int t = 0; t < n; ++t)
#pragma GCC unroll 4
        for (int p = 0; p < 4; ++p) acc[t][p] = vdupq_n_f32(0);
    for (size_t b = 0; b < n_block; ++b, panel += P::kBytes, d_a += kTokenGroup) {
        int32x4_t total[n][4], sum[n][4];
#pragma GCC unroll 2
        for (int t = 0; t < n; ++t)
#pragma GCC unroll 4
            for (int p = 0; p < 4; ++p) total[t][p] = vdupq_n_s32(0);
        const std::byte* w = panel + 64 * half;
        for (size_t part = 0; part < P::kParts; ++part) {
#pragma GCC unroll 2
            for (int t = 0; t < n; ++t)
#pragma GCC unroll 4
                for (int p = 0; p < 4; ++p) sum[t][p] = vdupq_n_s32(0);
#pragma GCC unroll 4
            for (size_t i = 0; i < P::kPart; i += 8, w += 128, a += 8 * kTokenGroup) add_octet<n>(w, a, sum);
            if constexpr (P::kScaled) {
                float32x4_t scales[4];  // int32, as bits
                each_row_twice(panel + P::kScalesAt + 64 * part + 32 * half, scales);
#pragma GCC unroll 2
                for (int t = 0; t < n; ++t)
#pragma GCC unroll 4
                    for (int p = 0; p < 4; ++p) total[t][p] = vmlaq_s32(total[t][p], sum[t][p], (int32x4_t)scales[p]);
            }
        }
        int32x4_t minimum[n][4];
        if constexpr (P::kMinimums) {
#pragma GCC unroll 2
            for (int t = 0; t < n; ++t)
#pragma GCC unroll 4
                for (int p = 0; p < 4; ++p) minimum[t][p] = vdupq_n_s32(0);
            const std::byte* m = panel + P::kMinimumsAt + 64 * half;
            constexpr size_t kOctets = P::kLayout.n_group / 8, kOctetBytes = kSumBytes / 3;
#pragma GCC unroll 2
            for (size_t i = 0; i < kOctets; ++i)
                add_octet<n>(m + 128 * i, sums + kOctetBytes * i + kOctetBytes / 2, minimum);
#pragma GCC unroll 2
            for (int t = 0; t < n; ++t)
#pragma GCC unroll 4
                for (int p = 0; p < 4; ++p) minimum[t][p] = vshlq_n_s32(minimum[t][p], 7);
#pragma GCC unroll 2
            for (size_t i = 0; i < kOctets; ++i) add_octet<n>(m + 128 * i, sums + kOctetBytes * i, minimum);
            sums += kSumBytes;
        }
        float32x4_t d[4], m[4];
        each_row_twice(panel + P::kDAt + 32 * half, d);
        if constexpr (P::kLayout.m) each_row_twice(panel + P::kMAt + 32 * half, m);
#pragma GCC unroll 2
        for (int t = 0; t < n; ++t) {
            const float32x4_t scale_a = both_tokens_twice(d_a + 2 * t);
#pragma GCC unroll 4
            for (int p = 0; p < 4; ++p) {
                const float32x4_t s = vcvtq_f32_s32(P::kScaled ? total[t][p] : sum[t][p]);
                acc[t][p] = vfmaq_f32(acc[t][p], vmulq_f32(d[p], scale_a), s);
                if constexpr (P::kMinimums)
                    acc[t][p] = vfmsq_f32(acc[t][p], vmulq_f32(m[p], scale_a), vcvtq_f32_s32(minimum[t][p]));
                else if constexpr (P::kLayout.m)
                    acc[t][p] = vfmaq_f32(acc[t][p], vmulq_f32(m[p], scale_a),
                                          both_tokens_twice(float_sums + b * kTokenGroup + size_t(2 * t)));
            }
        }
    }
#pragma GCC unroll 2
    for (int t = 0; t < n; ++t) {
        float* const to = out + size_t(2 * t) * out_stride + 8 * half;
        vst1q_f32(to, vuzp1q_f32(acc[t][0], acc[t][1]));
        vst1q_f32(to + 4, vuzp1q_f32(acc[t][2], acc[t][3]));
        if (size_t(2 * t + 1) == n_token) break;
        vst1q_f32(to + out_stride, vuzp2q_f32(acc[t][0], acc[t][1]));
        vst1q_f32(to + out_stride + 4, vuzp2q_f32(acc[t][2], acc[t][3]));
    }
}

template <class Type, int n>
inline void all_panels(const std::byte* panels, size_t panel_bytes, size_t n_panel, const Activations& x, size_t token,
                       size_t n_token, float* out, size_t out_stride) {
    const std::byte* group = x.arranged + token / kTokenGroup * x.arranged_bytes;
    for (size_t i = 0; i < 2 * n_panel; ++i)
        half_panel<Type, n>(panels + i / 2 * panel_bytes, i % 2, x.n_in, group, token % kTokenGroup, n_token,
                            out + i / 2 * kPanelRows, out_stride);
}

template <class Type>
void matmul_panel(const std::byte* panels, size_t panel_bytes, size_t n_panel, const Activations& x, size_t token,
                  size_t n_token, float* out, size_t out_stride) {
    // token is a multiple of kTokenGroup.
    size_t t = 0;
    for (; t + 3 <= n_token; t += 4)
        all_panels<Type, 2>(panels, panel_bytes, n_panel, x, token + t, n_token - t, out + t * out_stride, out_stride);
    if (t < n_token)
        all_panels<Type, 1>(panels, panel_bytes, n_panel, x, token + t, n_token - t, out + t * out_stride, out_stride);
}
