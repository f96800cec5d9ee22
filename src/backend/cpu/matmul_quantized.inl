// Matmul by weights that are integers. docs/numerics.md, "Matrix multiplication": the integer sum of a block is exact
// in any order, so it is taken in the order that suits the machine; the floats then follow one chain an output. The
// blocks come as the quads of weight_blocks.inl.

template <class Type>
inline VecI multiply_bytes(VecI w, VecI a) {
    if constexpr (Type::kSigned) return multiply_signed(w, a);
    return multiply_unsigned(w, a);
}
// How many results of multiply_bytes may be added as words: each is at most 2 * 127 * kLargest.
template <class Type>
constexpr int kWordSums = 32767 / (2 * 127 * Type::kLargest);

// ---- One token. For each block: integer sums of four quads, transposed, then the floats of sixteen rows at once.

template <class Type>
void matmul_rows(const std::byte* rows, size_t row_bytes, const Activations& x, size_t token, float* out) {
    constexpr PanelLayout kLayout = panel_layout(Type::kType);
    constexpr size_t kBlock = kLayout.block;
    const size_t n_block = x.n_in / kBlock;
    const auto* p = reinterpret_cast<const uint8_t*>(rows);
    // The sixteen rows after these come next, and lie after these. A block's share of them is fetched at each block.
    const uint8_t* ahead = p + kPanelRows * row_bytes;
    const RowStride stride(row_bytes);
    const int8_t* a = x.q + token * x.n_in;
    const float* d_a = x.d + token * n_block;
    const int16_t* sums16 = x.sums16 + (kLayout.group == 16 ? token * (x.n_in / 16) : 0);
    const int16_t* sums32 = x.sums32 + token * (x.n_in / 32);
    Vec acc = zero();
    for (size_t b = 0; b < n_block; ++b) {
        for (int line = 0; line < int(kPanelRows) * Type::kBytes; line += 64) prefetch(ahead + line);
        ahead += kPanelRows * Type::kBytes;
        VecI sum[4], minimum[4];
        Vec d, m;
        for (int j = 0; j < 4; ++j) {
            const uint8_t* quad = p + size_t(j) * row_bytes;
            if constexpr (kBlock == 32) {
                Type::unpack(quad, row_bytes, [&](auto, VecI low, VecI high) __attribute__((always_inline)) {
                    const VecI u = multiply_bytes<Type>(low, repeat16(a)),
                               v = multiply_bytes<Type>(high, repeat16(a + 16));
                    const VecI ones = all16(1);
                    if constexpr (kWordSums<Type> >= 2)
                        sum[j] = multiply_words(add16(u, v), ones);
                    else
                        sum[j] = add32(multiply_words(u, ones), multiply_words(v, ones));
                });
            } else {
                const VecI scales = Type::scales(quad, row_bytes);
                VecI s = zero_integers();
                if constexpr (kLayout.group == 32) {
                    Type::unpack(quad, row_bytes, [&](auto g, VecI low, VecI high) __attribute__((always_inline)) {
                        constexpr int kGroup = decltype(g)::value;
                        const VecI scale = Type::template group_scale<kGroup>(scales);
                        const VecI u = multiply_bytes<Type>(low, repeat16(a + 32 * kGroup));
                        const VecI v = multiply_bytes<Type>(high, repeat16(a + 32 * kGroup + 16));
                        if constexpr (kWordSums<Type> >= 2)
                            s = add32(s, multiply_words(add16(u, v), scale));
                        else
                            s = add32(s, add32(multiply_words(u, scale), multiply_words(v, scale)));
                    });
                } else {
                    Type::unpack(quad, row_bytes, [&](auto g, VecI w) __attribute__((always_inline)) {
                        constexpr int kGroup = decltype(g)::value;
                        const VecI scale = Type::template group_scale<kGroup>(scales);
                        s = add32(s, multiply_words(multiply_bytes<Type>(w, repeat16(a + 16 * kGroup)), scale));
                    });
                }
                if constexpr (kLayout.corrections) {
                    VecI low, high, c;
                    Type::corrections(scales, &low, &high);
                    if constexpr (kLayout.group == 32)
                        c = multiply_words(low, repeat16(sums32));
                    else
                        c = add32(multiply_words(low, repeat16(sums16)), multiply_words(high, repeat16(sums16 + 8)));
                    if constexpr (kLayout.m)
                        minimum[j] = c;
                    else
                        s = add32(s, c);
                }
                sum[j] = s;
            }
        }
        VecI total = sums_by_row(sum);
        if constexpr (kBlock == 32 && Type::kOffset != 0) total = add32(total, all32(-Type::kOffset * sums32[0]));
        Type::d_and_m(p, stride, &d, &m);
        const Vec scale_a = all(d_a[b]);
        acc = fma(d * scale_a, to_float(total), acc);
        if constexpr (kLayout.m && kBlock == 32) acc = fma(m * scale_a, all(float(sums32[0])), acc);
        if constexpr (kLayout.m && kBlock == 256) acc = fnma(m * scale_a, to_float(sums_by_row(minimum)), acc);
        p += Type::kBytes;
        a += kBlock;
        if constexpr (kLayout.group == 16) sums16 += kBlock / 16;
        sums32 += kBlock / 32;
    }
    store(acc, out);
}

// ---- Many tokens: the panel of panel.h ...

template <class Type>
void matmul_pack(const std::byte* rows, size_t row_bytes, size_t n_in, std::byte* panel) {
    constexpr PanelLayout kLayout = panel_layout(Type::kType);
    constexpr size_t kBlock = kLayout.block;
    const RowStride stride(row_bytes);
    const auto* p = reinterpret_cast<const uint8_t*>(rows);
    for (size_t b = 0; b < n_in / kBlock; ++b, p += Type::kBytes, panel += kLayout.block_bytes) {
        VecI weights[kBlock / 16][4];  // [16 values][quad]
        VecI scales[4];
        VecI across[4];
        for (int j = 0; j < 4; ++j) {
            const uint8_t* quad = p + size_t(j) * row_bytes;
            if constexpr (kLayout.group == 16) {
                Type::unpack(quad, row_bytes, [&](auto g, VecI w) __attribute__((always_inline)) {
                    weights[decltype(g)::value][j] = w;
                });
            } else {
                Type::unpack(quad, row_bytes, [&](auto g, VecI low, VecI high) __attribute__((always_inline)) {
                    weights[2 * decltype(g)::value][j] = low;
                    weights[2 * decltype(g)::value + 1][j] = high;
                });
            }
            if constexpr (kBlock == 256) scales[j] = Type::scales(quad, row_bytes);
        }
        std::byte* to = panel;
        for (size_t i = 0; i < kBlock / 16; ++i) {
            transpose_rows(weights[i][0], weights[i][1], weights[i][2], weights[i][3], across);
            for (int k = 0; k < 4; ++k, to += 64) store_bytes(across[k], to);
        }
        if constexpr (kBlock == 256) {
            const auto store_scales = [&](auto g) __attribute__((always_inline)) {
                constexpr int kGroup = decltype(g)::value;
                if constexpr (kGroup < int(kLayout.n_group)) {
                    transpose_rows(Type::template group_scale<kGroup>(scales[0]),
                                   Type::template group_scale<kGroup>(scales[1]),
                                   Type::template group_scale<kGroup>(scales[2]),
                                   Type::template group_scale<kGroup>(scales[3]), across);
                    store_bytes(across[0], panel + kLayout.scales_at + 64 * kGroup);
                }
            };
            store_scales(Int<0>()), store_scales(Int<1>()), store_scales(Int<2>()), store_scales(Int<3>());
            store_scales(Int<4>()), store_scales(Int<5>()), store_scales(Int<6>()), store_scales(Int<7>());
            store_scales(Int<8>()), store_scales(Int<9>()), store_scales(Int<10>()), store_scales(Int<11>());
            store_scales(Int<12>()), store_scales(Int<13>()), store_scales(Int<14>()), store_scales(Int<15>());
        }
        if constexpr (kLayout.corrections) {
            VecI low[4], high[4];
            for (int j = 0; j < 4; ++j) Type::corrections(scales[j], &low[j], &high[j]);
            to = panel + kLayout.corrections_at;
            transpose_rows(low[0], low[1], low[2], low[3], across);
            for (int k = 0; k < 4; ++k, to += 64) store_bytes(across[k], to);
            if constexpr (kLayout.group == 16) {
                transpose_rows(high[0], high[1], high[2], high[3], across);
                for (int k = 0; k < 4; ++k, to += 64) store_bytes(across[k], to);
            }
        }
        Vec d, m;
        Type::d_and_m(p, stride, &d, &m);
        store_bytes(as_integers(d), panel + kLayout.d_at);
        if constexpr (kLayout.m) store_bytes(as_integers(m), panel + kLayout.m_at);
    }
}

// ... and n tokens over it. Activations are broadcast four values at a time.
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
    for (int t = 0; t < n; ++t) acc[t] = zero();
    for (size_t b = 0; b < n_block; ++b, panel += kLayout.block_bytes, a += kBlock, sums += kBlock / kGroup) {
        VecI sum[n];
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
                for (int t = 0; t < n; ++t) {
                    const Vec scale_a = all(d_a[size_t(t) * n_block + b]);
                    acc[t] = fma(d * scale_a, to_float(sum[t]), acc[t]);
                    acc[t] = fnma(m * scale_a, to_float(corrections[t]), acc[t]);
                }
            } else {
                for (int t = 0; t < n; ++t)
                    acc[t] = fma(d * all(d_a[size_t(t) * n_block + b]), to_float(corrections[t]), acc[t]);
            }
        } else {
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
    for (int t = 0; t < n; ++t) store(acc[t], out + size_t(t) * out_stride);
}

template <class Type>
void matmul_panel(const std::byte* panel, const Activations& x, size_t token, size_t n_token, float* out,
                  size_t out_stride) {
    size_t t = 0;
    for (; t + kTokensInteger <= n_token; t += kTokensInteger)
        panel_tokens<Type, kTokensInteger>(panel, x, token + t, out + t * out_stride, out_stride);
    for (; t < n_token; ++t) panel_tokens<Type, 1>(panel, x, token + t, out + t * out_stride, out_stride);
}
