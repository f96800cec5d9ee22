// Many tokens over a panel of integers, with products of bytes summed as words. Activations are broadcast four values
// at a time; the panel is that of panel.h.

template <class Type>
constexpr size_t kPanelBlockBytes = panel_layout(Type::kType).block_bytes;

// Activations are used as quantize_row leaves them.
constexpr Arrange kArrange = nullptr;
constexpr ArrangedBytes kArrangedBytes = nullptr;

template <class Type>
inline void write_block(const BlockOfRows<Type>& block, std::byte* to) {
    constexpr PanelLayout kLayout = panel_layout(Type::kType);
    for (size_t i = 0; i < kLayout.block / 4; ++i) store_bytes(block.weights[i], to + 64 * i);
    for (size_t g = 0; g < kLayout.n_group; ++g) store_bytes(block.scales[g], to + kLayout.scales_at + 64 * g);
    if constexpr (kLayout.corrections) {
        for (size_t i = 0; i < kLayout.n_group / 2; ++i) {
            VecI words;
            if constexpr (kLayout.m) {
                words = block.minimums[i];
            } else {
                words = (block.scales[2 * i] & all32(0xffff)) | (block.scales[2 * i + 1] & all32(int(0xffff0000)));
                words = multiply_low_words(words, -Type::kOffset);
            }
            store_bytes(words, to + kLayout.corrections_at + 64 * i);
        }
    }
    store_bytes(as_integers(block.d), to + kLayout.d_at);
    if constexpr (kLayout.m) store_bytes(as_integers(block.m), to + kLayout.m_at);
}

// One panel, n tokens.
template <class Type, int n>
inline void panel_tokens(const std::byte* panel, const Activations& x, size_t token, float* out, size_t out_stride) {
    constexpr PanelLayout kLayout = panel_layout(Type::kType);
    constexpr size_t kBlock = kLayout.block, kGroup = kLayout.group ? kLayout.group : kBlock;
    constexpr int kQuads = int(kGroup / 4);  // broadcasts a group
    constexpr int kRun = kWordSums<Type> < kQuads ? kWordSums<Type> : kQuads;
    static_assert(kQuads % kRun == 0);
    const size_t n_block = x.n_in / kBlock, n_in = x.n_in;
    const int8_t* a = x.q + token * n_in;
    const float* d_a = x.d + token * n_block;
    const size_t n_sums = n_in / kGroup;
    const int16_t* sums = (kGroup == 16 ? x.sums16 : x.sums32) + token * n_sums;
    Vec acc[n];
#pragma GCC unroll 16
    for (int t = 0; t < n; ++t) acc[t] = zero();
    for (size_t b = 0; b < n_block; ++b, panel += kLayout.block_bytes, a += kBlock, sums += kBlock / kGroup) {
        VecI sum[n];
#pragma GCC unroll 16
        for (int t = 0; t < n; ++t)
            sum[t] =
                kBlock == 32 && Type::kOffset != 0 ? all32(-Type::kOffset * sums[size_t(t) * n_sums]) : zero_integers();
        const std::byte* w = panel;
        for (size_t g = 0; g < kBlock / kGroup; ++g) {
            const VecI scale = kBlock == 256 ? load_bytes(panel + kLayout.scales_at + 64 * g) : all16(1);
            const int8_t* from = a + kGroup * g;
#pragma GCC unroll 16
            for (int k = 0; k < kQuads; k += kRun) {
                VecI words[n];
                const VecI w0 = load_bytes(w);
#pragma GCC unroll 16
                for (int t = 0; t < n; ++t)
                    words[t] = multiply_bytes<Type>(w0, repeat4(from + size_t(t) * n_in + 4 * k));
                w += 64;
                if constexpr (kRun > 1) {
#pragma GCC unroll 16
                    for (int i = 1; i < kRun; ++i, w += 64) {
                        const VecI wi = load_bytes(w);
#pragma GCC unroll 16
                        for (int t = 0; t < n; ++t)
                            words[t] = add16(words[t],
                                             multiply_bytes<Type>(wi, repeat4(from + size_t(t) * n_in + 4 * (k + i))));
                    }
                }
#pragma GCC unroll 16
                for (int t = 0; t < n; ++t) sum[t] = add32(sum[t], multiply_words(words[t], scale));
            }
        }
        const Vec d = load(reinterpret_cast<const float*>(panel + kLayout.d_at));
        if constexpr (kLayout.corrections) {
            VecI corrections[n];
#pragma GCC unroll 16
            for (int t = 0; t < n; ++t) corrections[t] = kLayout.m ? zero_integers() : sum[t];
            for (size_t i = 0; i < kLayout.n_group / 2; ++i) {
                const VecI c = load_bytes(panel + kLayout.corrections_at + 64 * i);
#pragma GCC unroll 16
                for (int t = 0; t < n; ++t)
                    corrections[t] =
                        add32(corrections[t], multiply_words(c, repeat4(sums + size_t(t) * n_sums + 2 * i)));
            }
            if constexpr (kLayout.m) {
                const Vec m = load(reinterpret_cast<const float*>(panel + kLayout.m_at));
#pragma GCC unroll 16
                for (int t = 0; t < n; ++t) {
                    const Vec scale_a = all(d_a[size_t(t) * n_block + b]);
                    acc[t] = fma(d * scale_a, to_float(sum[t]), acc[t]);
                    acc[t] = fnma(m * scale_a, to_float(corrections[t]), acc[t]);
                }
            } else {
#pragma GCC unroll 16
                for (int t = 0; t < n; ++t)
                    acc[t] = fma(d * all(d_a[size_t(t) * n_block + b]), to_float(corrections[t]), acc[t]);
            }
        } else {
#pragma GCC unroll 16
            for (int t = 0; t < n; ++t) {
                const Vec scale_a = all(d_a[size_t(t) * n_block + b]);
                acc[t] = fma(d * scale_a, to_float(sum[t]), acc[t]);
                if constexpr (kLayout.m) {
                    const Vec m = load(reinterpret_cast<const float*>(panel + kLayout.m_at));
                    acc[t] = fma(m * scale_a, all(float(sums[size_t(t) * n_sums])), acc[t]);
                }
            }
        }
    }
#pragma GCC unroll 16
    for (int t = 0; t < n; ++t) store(acc[t], out + size_t(t) * out_stride);
}

template <class Type>
void matmul_panel(const std::byte* panels, size_t panel_bytes, size_t n_panel, const Activations& x, size_t token,
                  size_t n_token, float* out, size_t out_stride) {
    size_t t = 0;
    for (; t + kTokensInteger <= n_token; t += kTokensInteger)
        for (size_t p = 0; p < n_panel; ++p)
            panel_tokens<Type, kTokensInteger>(panels + p * panel_bytes, x, token + t,
                                               out + t * out_stride + p * kPanelRows, out_stride);
    for (; t < n_token; ++t)
        for (size_t p = 0; p < n_panel; ++p)
            panel_tokens<Type, 1>(panels + p * panel_bytes, x, token + t, out + t * out_stride + p * kPanelRows,
                                  out_stride);
}
