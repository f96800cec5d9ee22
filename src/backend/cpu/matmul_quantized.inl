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

// One token. For each block: integer sums of four quads, transposed, then the floats of sixteen rows at once.

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
