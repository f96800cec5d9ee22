// Many tokens over a panel of integers with VNNI: dot4 multiplies unsigned bytes by signed ones, exactly. Every type's
// weights become signed bytes, their offsets taken off, and it is the activations that are made unsigned, by adding
// 128. What that adds to a sum is 128 times the sum of the weights, which does not depend on the token: the sums start
// from its negative.
//
// The integer scales of the K types multiply in the way that costs least and is exact:
//   in_weights  a scale times a weight is a byte, so that a block is one sum (panel_signed.inl): Q2_K, Q3_K
//   as_words    a sum over few enough values is a word, and dot2 multiplies it and adds it to the block's sum at once:
//               Q4_K, 16 values, 15 * 127 * 16 = 30480; Q6_K, 8 values, 32 * 127 * 8 = 32512
//   as_integers sums of 32 are multiplied as int32: Q5_K, IQ4_XS
// A block's sum is below 2^27 (docs/numerics.md), whatever the order.

enum class Scaling { none, in_weights, as_words, as_integers };

template <class Type>
constexpr Scaling scaling_of() {
    using enum gguf::TensorType;
    if (panel_layout(Type::kType).block == 32) return Scaling::none;
    if (kScaleInWeights<Type>) return Scaling::in_weights;
    if (Type::kType == Q4_K || Type::kType == Q6_K) return Scaling::as_words;
    return Scaling::as_integers;
}

// Block after block, each of these parts in this order, lane = row:
//   weights  [block / 4][16 rows][4]   int8
//   bias     [n_part][16 rows]         int32: what the sum of a part starts from
//   scales   [n_group][16 rows]        int32; as_words: the word and 0 above it
//   minimums [n_group / 2][16 rows][2] int16
//   d        [16 rows]                 float; m [16 rows] float
template <class Type>
struct VnniPanel {
    static constexpr PanelLayout kLayout = panel_layout(Type::kType);
    static constexpr Scaling kScaling = scaling_of<Type>();
    static constexpr bool kMinimums = kLayout.m && kLayout.block == 256;
    // Values that are summed before a scale multiplies them.
    static constexpr size_t kPart = kScaling == Scaling::as_words ? (Type::kType == gguf::TensorType::Q4_K ? 16 : 8)
                                    : kScaling == Scaling::as_integers ? kLayout.group
                                                                       : kLayout.block;
    static constexpr size_t kParts = kLayout.block / kPart;
    static constexpr size_t kScales =
        kScaling == Scaling::as_words || kScaling == Scaling::as_integers ? kLayout.n_group : 0;
    static constexpr size_t kBiasAt = kLayout.block * 16;
    static constexpr size_t kScalesAt = kBiasAt + kParts * 64;
    static constexpr size_t kMinimumsAt = kScalesAt + kScales * 64;
    static constexpr size_t kDAt = kMinimumsAt + (kMinimums ? kLayout.n_group / 2 * 64 : 0);
    static constexpr size_t kMAt = kDAt + 64;
    static constexpr size_t kBytes = kMAt + (kLayout.m ? 64 : 0);
};

template <class Type>
constexpr size_t kPanelBlockBytes = VnniPanel<Type>::kBytes;

template <class Type>
inline void write_block(const BlockOfRows<Type>& block, std::byte* to) {
    using P = VnniPanel<Type>;
    constexpr size_t kQuads = P::kPart / 4;
    for (size_t part = 0; part < P::kParts; ++part) {
        VecI sum = zero_integers();
        for (size_t i = part * kQuads; i < (part + 1) * kQuads; ++i) {
            const VecI w = signed_weights<Type>(block, i);
            sum = dot4(sum, all8(128), w);
            store_bytes(w, to + 64 * i);
        }
        store_bytes(sub32(zero_integers(), sum), to + P::kBiasAt + 64 * part);
    }
    for (size_t g = 0; g < P::kScales; ++g) {
        const VecI scale = P::kScaling == Scaling::as_words ? block.scales[g] & all32(0xffff)
                                                            : shift_right32_signed<16>(block.scales[g]);
        store_bytes(scale, to + P::kScalesAt + 64 * g);
    }
    if constexpr (P::kMinimums)
        for (size_t i = 0; i < P::kLayout.n_group / 2; ++i)
            store_bytes(block.minimums[i], to + P::kMinimumsAt + 64 * i);
    write_d_and_m<P>(block, to);
}

// Activations, one token after the other: its integers plus 128, and with blocks of 32 their sums.
//   q    [n_in]       uint8
//   sums [n_in / 32]  float, of 32 q
constexpr size_t token_bytes(size_t n_in, size_t block) { return n_in + (block == 32 ? n_in / 32 * sizeof(float) : 0); }
size_t arranged_bytes(size_t n_in, size_t block) { return kTokenGroup * token_bytes(n_in, block); }
void arrange(const QuantizedRow& row, size_t n_in, size_t block, size_t token, std::byte* group) {
    const int8_t* q = row.q;
    std::byte* to = group + token * token_bytes(n_in, block);
    size_t i = 0;
    for (; i + 64 <= n_in; i += 64) store_bytes(add8(load_bytes(q + i), all8(-128)), to + i);
    for (; i < n_in; ++i) to[i] = std::byte(q[i] + 128);
    if (block != 32) return;
    const int16_t* sums = row.sums32;
    auto* sums_to = reinterpret_cast<float*>(to + n_in);
    for (i = 0; i < n_in / 32; ++i) sums_to[i] = float(sums[i]);
}
constexpr ArrangedBytes kArrangedBytes = &arranged_bytes;
constexpr Arrange kArrange = &arrange;

// p panels, n tokens: a broadcast of four activations serves all panels, a vector of weights all tokens.
template <class Type, int p, int n>
inline void panel_tokens(const std::byte* panel, size_t panel_bytes, const Activations& x, size_t token, float* out,
                         size_t out_stride) {
    using P = VnniPanel<Type>;
    constexpr size_t kBlock = P::kLayout.block;
    constexpr int kQuads = int(P::kPart / 4);
    constexpr bool kScaled = P::kScales != 0;
    const size_t n_block = x.n_in / kBlock, n_in = x.n_in;
    const size_t stride_a = token_bytes(n_in, kBlock);
    const std::byte* a = x.arranged + token * stride_a;
    const auto* float_sums = reinterpret_cast<const float*>(a + n_in);
    const float* d_a = x.d + token * n_block;
    constexpr size_t kSumOf = P::kLayout.group == 16 ? 16 : 32;
    const int16_t* sums = (kSumOf == 16 ? x.sums16 : x.sums32) + token * (n_in / kSumOf);
    // The float sums wait in memory where registers are scarce, or the wait is long.
    constexpr bool kWait = kBlock == 256 || kSumsWait;
    alignas(64) float waiting[p][n][16];
    Vec acc[p][n];
#pragma GCC unroll 16
    for (int i = 0; i < p; ++i)
#pragma GCC unroll 16
        for (int t = 0; t < n; ++t) {
            acc[i][t] = zero();
            if constexpr (kWait) store(acc[i][t], waiting[i][t]);
        }
    for (size_t b = 0; b < n_block; ++b, panel += P::kBytes, a += kBlock, sums += kBlock / kSumOf) {
        VecI sum[p][n], total[p][n];
#pragma GCC unroll 16
        for (int i = 0; i < p; ++i)
#pragma GCC unroll 16
            for (int t = 0; t < n; ++t) total[i][t] = zero_integers();
        for (size_t part = 0; part < P::kParts; ++part) {
#pragma GCC unroll 16
            for (int i = 0; i < p; ++i) {
                const VecI bias = load_bytes(panel + size_t(i) * panel_bytes + P::kBiasAt + 64 * part);
#pragma GCC unroll 16
                for (int t = 0; t < n; ++t) sum[i][t] = bias;
            }
            const std::byte* w = panel + part * P::kPart * 16;
            const std::byte* from = a + part * P::kPart;
#pragma GCC unroll 8
            for (int k = 0; k < kQuads; ++k) {
                VecI wk[p];
#pragma GCC unroll 16
                for (int i = 0; i < p; ++i) wk[i] = load_bytes(w + size_t(i) * panel_bytes + 64 * k);
#pragma GCC unroll 16
                for (int t = 0; t < n; ++t) {
                    const VecI v = repeat4(from + size_t(t) * stride_a + 4 * k);
#pragma GCC unroll 16
                    for (int i = 0; i < p; ++i) sum[i][t] = dot4(sum[i][t], v, wk[i]);
                }
            }
            if constexpr (kScaled) {
#pragma GCC unroll 16
                for (int i = 0; i < p; ++i) {
                    const VecI scale = load_bytes(panel + size_t(i) * panel_bytes + P::kScalesAt +
                                                  64 * (part * P::kPart / P::kLayout.group));
#pragma GCC unroll 16
                    for (int t = 0; t < n; ++t)
                        total[i][t] = P::kScaling == Scaling::as_words
                                          ? dot2(total[i][t], sum[i][t], scale)
                                          : add32(total[i][t], multiply32(sum[i][t], scale));
                }
            }
        }
#pragma GCC unroll 16
        for (int i = 0; i < p; ++i) {
            const std::byte* at = panel + size_t(i) * panel_bytes;
            const Vec d = load(reinterpret_cast<const float*>(at + P::kDAt));
#pragma GCC unroll 16
            for (int t = 0; t < n; ++t) {
                if constexpr (kWait) acc[i][t] = load(waiting[i][t]);
                acc[i][t] =
                    fma(d * all(d_a[size_t(t) * n_block + b]), to_float(kScaled ? total[i][t] : sum[i][t]), acc[i][t]);
            }
            if constexpr (P::kLayout.m) {
                const Vec m = load(reinterpret_cast<const float*>(at + P::kMAt));
                VecI minimum[n];
                if constexpr (P::kMinimums) {
#pragma GCC unroll 16
                    for (int t = 0; t < n; ++t) minimum[t] = zero_integers();
#pragma GCC unroll 8
                    for (size_t j = 0; j < P::kLayout.n_group / 2; ++j) {
                        const VecI c = load_bytes(at + P::kMinimumsAt + 64 * j);
#pragma GCC unroll 16
                        for (int t = 0; t < n; ++t)
                            minimum[t] = dot2(minimum[t], c, repeat4(sums + size_t(t) * (n_in / kSumOf) + 2 * j));
                    }
                }
#pragma GCC unroll 16
                for (int t = 0; t < n; ++t) {
                    const Vec scale_m = m * all(d_a[size_t(t) * n_block + b]);
                    if constexpr (P::kMinimums)
                        acc[i][t] = fnma(scale_m, to_float(minimum[t]), acc[i][t]);
                    else
                        acc[i][t] =
                            fma(scale_m, all(float_sums[size_t(t) * (stride_a / sizeof(float)) + b]), acc[i][t]);
                }
            }
            if constexpr (kWait) {
#pragma GCC unroll 16
                for (int t = 0; t < n; ++t) store(acc[i][t], waiting[i][t]);
            }
        }
    }
#pragma GCC unroll 16
    for (int t = 0; t < n; ++t)
#pragma GCC unroll 16
        for (int i = 0; i < p; ++i)
            store(kWait ? load(waiting[i][t]) : acc[i][t], out + size_t(t) * out_stride + size_t(i) * kPanelRows);
}

template <class Type, int n>
inline void all_panels(const std::byte* panels, size_t panel_bytes, size_t n_panel, const Activations& x, size_t token,
                       float* out, size_t out_stride) {
    size_t i = 0;
    for (; i + kPanelsInteger <= n_panel; i += kPanelsInteger)
        panel_tokens<Type, kPanelsInteger, n>(panels + i * panel_bytes, panel_bytes, x, token, out + i * kPanelRows,
                                              out_stride);
    if constexpr (kPanelsInteger > 1)
        for (; i < n_panel; ++i)
            panel_tokens<Type, 1, n>(panels + i * panel_bytes, panel_bytes, x, token, out + i * kPanelRows, out_stride);
}

template <class Type>
void matmul_panel(const std::byte* panels, size_t panel_bytes, size_t n_panel, const Activations& x, size_t token,
                  size_t n_token, float* out, size_t out_stride) {
    size_t t = 0;
    // 8 tokens are two times 4 rather than 6 and two single ones.
    for (; n_token - t >= 6 && n_token - t != 8; t += 6)
        all_panels<Type, 6>(panels, panel_bytes, n_panel, x, token + t, out + t * out_stride, out_stride);
    for (; n_token - t >= 4; t += 4)
        all_panels<Type, 4>(panels, panel_bytes, n_panel, x, token + t, out + t * out_stride, out_stride);
    for (; t < n_token; ++t)
        all_panels<Type, 1>(panels, panel_bytes, n_panel, x, token + t, out + t * out_stride, out_stride);
}
