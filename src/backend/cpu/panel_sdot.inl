// Many tokens over a panel of integers with SDOT. The weights are [block / 4][16 rows][4], so that a register is four
// values of four rows, and the instruction takes the four activations they meet from any quarter of another register:
// nothing is broadcast. Eight rows by four tokens are 8 sums, and as many that are multiplied already and floats,
// beside two registers of weights and four of activations, of 32.
template <class Type>
using Panel = SignedPanel<Type, 2>;
template <class Type>
constexpr size_t kPanelBlockBytes = Panel<Type>::kBytes;

// Activations are used as quantize_row leaves them.
constexpr Arrange kArrange = nullptr;
constexpr ArrangedBytes kArrangedBytes = nullptr;

constexpr int kTokensAtOnce = 4;

template <class Type>
inline void write_block(const BlockOfRows<Type>& block, std::byte* to) {
    using P = Panel<Type>;
    for (size_t i = 0; i < P::kLayout.block / 4; ++i) store_bytes(signed_weights<Type>(block, i), to + 64 * i);
    if constexpr (P::kMinimums)
        for (size_t i = 0; i < P::kLayout.n_group / 2; ++i) {
            store_low_words(block.minimums[i], to + P::kMinimumsAt + 64 * i);
            store_low_words(shift_right32<16>(block.minimums[i]), to + P::kMinimumsAt + 64 * i + 32);
        }
    write_scales<P>(block, to);
}

// Four values: quarter `lane` of each a[t].
template <int lane, int n>
inline void add_quad(const std::byte* w, const int8x16_t (&a)[n], int32x4_t (&sum)[n][2]) {
    const int8x16_t low = bytes_at(w), high = bytes_at(w + 16);
#pragma GCC unroll 4
    for (int t = 0; t < n; ++t) {
        sum[t][0] = vdotq_laneq_s32(sum[t][0], low, a[t], lane);
        sum[t][1] = vdotq_laneq_s32(sum[t][1], high, a[t], lane);
    }
}

// sum[t] += the minimums of group `lane` of eight times the sum of token t's activations in it.
template <int lane, int n>
inline void add_minimums(const std::byte* minimums, const int16x8_t (&sums)[n], int32x4_t (&sum)[n][2]) {
    const auto m = (int16x8_t)bytes_at(minimums + 32 * lane);
#pragma GCC unroll 4
    for (int t = 0; t < n; ++t) {
        sum[t][0] = vmlal_laneq_s16(sum[t][0], vget_low_s16(m), sums[t], lane);
        sum[t][1] = vmlal_high_laneq_s16(sum[t][1], m, sums[t], lane);
    }
    if constexpr (lane < 7) add_minimums<lane + 1, n>(minimums, sums, sum);
}

// Rows 8 half .. 8 half + 7 of one panel, n tokens.
template <class Type, int n>
inline void half_panel(const std::byte* panel, size_t half, const Activations& x, size_t token, float* out,
                       size_t out_stride) {
    using P = Panel<Type>;
    constexpr size_t kBlock = P::kLayout.block;
    constexpr size_t kSumOf = P::kLayout.group == 16 ? 16 : 32;
    const size_t n_in = x.n_in, n_block = n_in / kBlock, n_sums = n_in / kSumOf;
    const int8_t* a = x.q + token * n_in;
    const float* d_a = x.d + token * n_block;
    const int16_t* sums = (kSumOf == 16 ? x.sums16 : x.sums32) + token * n_sums;
    float32x4_t acc[n][2];
#pragma GCC unroll 4
    for (int t = 0; t < n; ++t) acc[t][0] = acc[t][1] = vdupq_n_f32(0);
    for (size_t b = 0; b < n_block; ++b, panel += P::kBytes, sums += kBlock / kSumOf) {
        int32x4_t total[n][2], sum[n][2];
#pragma GCC unroll 4
        for (int t = 0; t < n; ++t) total[t][0] = total[t][1] = vdupq_n_s32(0);
        const std::byte* w = panel + 32 * half;
        for (size_t part = 0; part < P::kParts; ++part) {
#pragma GCC unroll 4
            for (int t = 0; t < n; ++t) sum[t][0] = sum[t][1] = vdupq_n_s32(0);
#pragma GCC unroll 2
            for (size_t i = 0; i < P::kPart; i += 16, a += 16, w += 256) {
                int8x16_t values[n];
#pragma GCC unroll 4
                for (int t = 0; t < n; ++t) values[t] = vld1q_s8(a + size_t(t) * n_in);
                add_quad<0, n>(w, values, sum);
                add_quad<1, n>(w + 64, values, sum);
                add_quad<2, n>(w + 128, values, sum);
                add_quad<3, n>(w + 192, values, sum);
            }
            if constexpr (P::kScaled) {
                const std::byte* at = panel + P::kScalesAt + 64 * part + 32 * half;
                const int32x4_t low = integers_at(at), high = integers_at(at + 16);
#pragma GCC unroll 4
                for (int t = 0; t < n; ++t) {
                    total[t][0] = vmlaq_s32(total[t][0], sum[t][0], low);
                    total[t][1] = vmlaq_s32(total[t][1], sum[t][1], high);
                }
            }
        }
        int32x4_t minimum[n][2];
        if constexpr (P::kMinimums) {
#pragma GCC unroll 4
            for (int t = 0; t < n; ++t) minimum[t][0] = minimum[t][1] = vdupq_n_s32(0);
#pragma GCC unroll 2
            for (size_t g = 0; g < P::kLayout.n_group; g += 8) {
                int16x8_t of_groups[n];
#pragma GCC unroll 4
                for (int t = 0; t < n; ++t) of_groups[t] = vld1q_s16(sums + size_t(t) * n_sums + g);
                add_minimums<0, n>(panel + P::kMinimumsAt + 32 * g + 16 * half, of_groups, minimum);
            }
        }
#pragma GCC unroll 2
        for (int i = 0; i < 2; ++i) {
            const size_t at = 32 * half + 16 * size_t(i);
            const float32x4_t d = floats_at(panel + P::kDAt + at);
            float32x4_t m = d;
            if constexpr (P::kLayout.m) m = floats_at(panel + P::kMAt + at);
#pragma GCC unroll 4
            for (int t = 0; t < n; ++t) {
                const float scale_a = d_a[size_t(t) * n_block + b];
                const float32x4_t s = vcvtq_f32_s32(P::kScaled ? total[t][i] : sum[t][i]);
                acc[t][i] = vfmaq_f32(acc[t][i], vmulq_n_f32(d, scale_a), s);
                if constexpr (P::kMinimums)
                    acc[t][i] = vfmsq_f32(acc[t][i], vmulq_n_f32(m, scale_a), vcvtq_f32_s32(minimum[t][i]));
                else if constexpr (P::kLayout.m)
                    acc[t][i] = vfmaq_n_f32(acc[t][i], vmulq_n_f32(m, scale_a), float(sums[size_t(t) * n_sums]));
            }
        }
    }
#pragma GCC unroll 4
    for (int t = 0; t < n; ++t) {
        float* const to = out + size_t(t) * out_stride + 8 * half;
        vst1q_f32(to, acc[t][0]);
        vst1q_f32(to + 4, acc[t][1]);
    }
}

template <class Type, int n>
inline void all_panels(const std::byte* panels, size_t panel_bytes, size_t n_panel, const Activations& x, size_t token,
                       float* out, size_t out_stride) {
    for (size_t i = 0; i < 2 * n_panel; ++i)
        half_panel<Type, n>(panels + i / 2 * panel_bytes, i % 2, x, token, out + i / 2 * kPanelRows, out_stride);
}

template <class Type>
void matmul_panel(const std::byte* panels, size_t panel_bytes, size_t n_panel, const Activations& x, size_t token,
                  size_t n_token, float* out, size_t out_stride) {
    size_t t = 0;
    for (; t + kTokensAtOnce <= n_token; t += kTokensAtOnce)
        all_panels<Type, kTokensAtOnce>(panels, panel_bytes, n_panel, x, token + t, out + t * out_stride, out_stride);
    for (; t < n_token; ++t)
        all_panels<Type, 1>(panels, panel_bytes, n_panel, x, token + t, out + t * out_stride, out_stride);
}
