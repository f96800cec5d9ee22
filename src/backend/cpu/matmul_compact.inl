// Matmul of few tokens from a compact panel (compact.h), whose bytes are read once for all of them. The bound is the
// memory's bandwidth, so a block is fetched well before it is due.

// How far ahead of the sums: a page, which is two to four times what arrives while a line is on its way.
constexpr size_t kFetchAhead = 4096;
inline void prefetch_bytes(const std::byte* p, size_t n) {
    for (size_t line = 0; line < n; line += 64) prefetch(p + line);
}

// Where dot4 takes unsigned weights, signed ones are raised by 128. What is above the weight's own value is taken off
// as often as the activations sum up to.
template <class Type>
constexpr int kAbove = Type::kSigned ? kRaise : Type::kOffset;
template <class Type>
inline VecI raised(VecI w) {
    if constexpr (Type::kSigned && kRaise != 0) return w ^ all8(-kRaise);
    return w;
}

template <class Type>
constexpr int kGroupSize = panel_layout(Type::kType).group ? int(panel_layout(Type::kType).group) : 32;
template <class Type>
constexpr int kGroups = int(panel_layout(Type::kType).block) / kGroupSize<Type>;
template <class Type>
constexpr int kQuads = kGroupSize<Type> / 4;

// Adds the products of quad i of a group of `quads`. `run` holds what is not yet in total: words as long as they cannot
// overflow, or with byte dots the group's sum until it is scaled. `scale` is what group_scale gives. GCC would not
// inline it where a vector is four registers, and there are as many calls as quads.
template <class Type, bool scaled, int i>
[[gnu::always_inline]] inline void add_products(VecI& total, VecI& run, VecI w, VecI a, VecI scale) {
    constexpr int kLast = kQuads<Type> - 1;
    if constexpr (kByteDots && !scaled) {
        total = dot4(total, w, a);
    } else if constexpr (kByteDots) {
        run = dot4(i == 0 ? zero_integers() : run, w, a);
        if constexpr (i == kLast) total = add32(total, multiply32(run, scale));
    } else {
        constexpr int kRun = kWordSums<Type> < 1 ? 1 : kWordSums<Type>;
        const VecI products = multiply_bytes<Type>(w, a);
        run = i % kRun == 0 ? products : add16(run, products);
        if constexpr (i % kRun == kRun - 1 || i == kLast) total = add32(total, multiply_words(run, scale));
    }
}

template <class Type, int g, size_t n_vector>
inline VecI group_scale(const VecI (&scales)[n_vector]) {
    constexpr Place kAt = kPlace<Type, g>;
    if constexpr (kByteDots) return byte_as_lane<kAt.byte, kSignedScales<Type>>(scales[kAt.vector]);
    return bytes_as_words<kAt.byte, kAt.byte, kSignedScales<Type>>(scales[kAt.vector]);
}

template <class Type, bool scaled, int g, int i, int n>
inline void add_quads(const std::byte* block, const int8_t* a, size_t n_in, VecI scale, VecI (&total)[n],
                      VecI (&run)[n]) {
    const VecI w = raised<Type>(quad<g, i>(Type(), block));
#pragma GCC unroll 8
    for (int t = 0; t < n; ++t)
        add_products<Type, scaled, i>(total[t], run[t], w, repeat4(a + size_t(t) * n_in + 4 * i), scale);
    if constexpr (i + 1 < kQuads<Type>) add_quads<Type, scaled, g, i + 1, n>(block, a, n_in, scale, total, run);
}

template <class Type, int g, int n, size_t n_vector>
inline void add_groups(const std::byte* block, const int8_t* a, size_t n_in, const VecI (&scales)[n_vector],
                       VecI (&total)[n]) {
    VecI run[n];
    add_quads<Type, true, g, 0, n>(block, a, n_in, group_scale<Type, g>(scales), total, run);
    if constexpr (g + 1 < kGroups<Type>) add_groups<Type, g + 1, n>(block, a + kGroupSize<Type>, n_in, scales, total);
}

// corrections[t] += the sums of token t's groups times the groups' numbers in s.
template <class Type, int pair, bool is_signed, int n, size_t n_vector>
inline void add_pairs(const VecI (&s)[n_vector], const int16_t* sums, size_t n_sums, VecI (&corrections)[n]) {
    const VecI numbers = pair_of_groups<Type, pair, is_signed>(s);
#pragma GCC unroll 8
    for (int t = 0; t < n; ++t)
        corrections[t] = dot2(corrections[t], numbers, repeat4(sums + size_t(t) * n_sums + 2 * pair));
    if constexpr (2 * pair + 2 < kGroups<Type>) add_pairs<Type, pair + 1, is_signed, n>(s, sums, n_sums, corrections);
}

template <class Type, int n>
inline void compact_tokens(const std::byte* panel, const Activations& x, size_t token, float* out, size_t out_stride) {
    constexpr CompactLayout kLayout = compact_layout(Type::kType);
    constexpr size_t kBlock = kLayout.block;
    constexpr bool kHasM = panel_layout(Type::kType).m;
    const size_t n_in = x.n_in, n_block = n_in / kBlock, n_sums = n_in / kGroupSize<Type>;
    const int8_t* a = x.q + token * n_in;
    const float* d_a = x.d + token * n_block;
    const int16_t* sums = (kGroupSize<Type> == 16 ? x.sums16 : x.sums32) + token * n_sums;
    Vec acc[n];
#pragma GCC unroll 8
    for (int t = 0; t < n; ++t) acc[t] = zero();
    for (size_t b = 0; b < n_block; ++b, panel += kLayout.block_bytes, a += kBlock, sums += kGroups<Type>) {
        prefetch_bytes(panel + kFetchAhead, kLayout.block_bytes);
        VecI total[n];
        const Vec d = load_halves(panel + kLayout.halves_at);
        Vec m = zero();
        if constexpr (kHasM) m = load_halves(panel + kLayout.halves_at + 32);
        if constexpr (kBlock == 32) {
            VecI run[n];
#pragma GCC unroll 8
            for (int t = 0; t < n; ++t)
                total[t] = kAbove<Type> ? all32(-kAbove<Type> * sums[size_t(t) * n_sums]) : zero_integers();
            add_quads<Type, false, 0, 0, n>(panel, a, n_in, all16(1), total, run);
#pragma GCC unroll 8
            for (int t = 0; t < n; ++t) {
                const Vec scale_a = all(d_a[size_t(t) * n_block + b]);
                acc[t] = fma(d * scale_a, to_float(total[t]), acc[t]);
                if constexpr (kHasM) acc[t] = fma(m * scale_a, all(float(sums[size_t(t) * n_sums])), acc[t]);
            }
        } else {
            VecI scales[kGroups<Type> / 4];
            scale_bytes(Type(), panel, scales);
#pragma GCC unroll 8
            for (int t = 0; t < n; ++t) total[t] = zero_integers();
            add_groups<Type, 0, n>(panel, a, n_in, scales, total);
            VecI corrections[n];
            if constexpr (kHasM || kAbove<Type> != 0) {
#pragma GCC unroll 8
                for (int t = 0; t < n; ++t) corrections[t] = zero_integers();
                if constexpr (kHasM) {
                    minimum_bytes(Type(), panel, scales);
                    add_pairs<Type, 0, false, n>(scales, sums, n_sums, corrections);
                } else {
                    add_pairs<Type, 0, true, n>(scales, sums, n_sums, corrections);
                }
            }
#pragma GCC unroll 8
            for (int t = 0; t < n; ++t) {
                const Vec scale_a = all(d_a[size_t(t) * n_block + b]);
                if constexpr (!kHasM && kAbove<Type> != 0) {
                    constexpr int kShift = __builtin_ctz(unsigned(kAbove<Type>));
                    static_assert(kAbove<Type> == 1 << kShift);
                    total[t] = sub32(total[t], shift_left32<kShift>(corrections[t]));
                }
                acc[t] = fma(d * scale_a, to_float(total[t]), acc[t]);
                if constexpr (kHasM) acc[t] = fnma(m * scale_a, to_float(corrections[t]), acc[t]);
            }
        }
    }
#pragma GCC unroll 8
    for (int t = 0; t < n; ++t) store(acc[t], out + size_t(t) * out_stride);
}

// n tokens at a time, then the rest by half as many.
template <class Type, int n>
inline void compact_by(const std::byte* panel, const Activations& x, size_t token, size_t n_token, float* out,
                       size_t out_stride) {
    for (; n_token >= n; n_token -= n, token += n, out += n * out_stride)
        compact_tokens<Type, n>(panel, x, token, out, out_stride);
    if constexpr (n > 1) compact_by<Type, n / 2>(panel, x, token, n_token, out, out_stride);
}

template <class Type>
void matmul_compact(const std::byte* panel, const Activations& x, size_t token, size_t n_token, float* out,
                    size_t out_stride) {
    compact_by<Type, kTokensCompact>(panel, x, token, n_token, out, out_stride);
}

// ---- Floats: one chain an output, k ascending.

inline Vec compact_column(F32, const std::byte* panel) { return load(reinterpret_cast<const float*>(panel)); }
inline Vec compact_column(F16, const std::byte* panel) { return load_halves(panel); }
inline Vec compact_column(BF16, const std::byte* panel) { return as_floats(shift_left32<16>(load_words(panel))); }

template <class Type, int n>
inline void compact_tokens_float(const std::byte* panel, const Activations& x, size_t token, float* out,
                                 size_t out_stride) {
    constexpr size_t kColumn = kPanelRows * Type::kBytes;
    const float* a = x.x + token * x.n_in;
    Vec acc[n];
#pragma GCC unroll 8
    for (int t = 0; t < n; ++t) acc[t] = zero();
    const auto add = [&](size_t k) __attribute__((always_inline)) {
        const Vec w = compact_column(Type(), panel + k * kColumn);
#pragma GCC unroll 8
        for (int t = 0; t < n; ++t) acc[t] = fma(w, all(a[size_t(t) * x.n_in + k]), acc[t]);
    };
    size_t k = 0;
    for (; k + 4 <= x.n_in; k += 4) {
        prefetch_bytes(panel + k * kColumn + kFetchAhead, 4 * kColumn);
        add(k), add(k + 1), add(k + 2), add(k + 3);
    }
    for (; k < x.n_in; ++k) add(k);
#pragma GCC unroll 8
    for (int t = 0; t < n; ++t) store(acc[t], out + size_t(t) * out_stride);
}

template <class Type, int n>
inline void compact_by_float(const std::byte* panel, const Activations& x, size_t token, size_t n_token, float* out,
                             size_t out_stride) {
    for (; n_token >= n; n_token -= n, token += n, out += n * out_stride)
        compact_tokens_float<Type, n>(panel, x, token, out, out_stride);
    if constexpr (n > 1) compact_by_float<Type, n / 2>(panel, x, token, n_token, out, out_stride);
}

template <class Type>
void matmul_compact_float(const std::byte* panel, const Activations& x, size_t token, size_t n_token, float* out,
                          size_t out_stride) {
    compact_by_float<Type, kTokensCompact>(panel, x, token, n_token, out, out_stride);
}
