// Matmul by float weights: one chain of fma an output, k ascending, so a lane is an output row and rows are transposed
// on the way, four values of sixteen rows at a time (the quads of weight_blocks.inl).

struct F32 {
    static constexpr size_t kBytes = 4;
    static inline VecI quad(const uint8_t* p, size_t stride) { return load_rows(p, stride); }
    static inline float one(const uint8_t* p) {
        float x;
        __builtin_memcpy(&x, p, 4);
        return x;
    }
};

struct F16 {
    static constexpr size_t kBytes = 2;
    static inline VecI quad(const uint8_t* p, size_t stride) { return as_integers(load_rows_f16(p, stride)); }
    static inline float one(const uint8_t* p) {
        uint16_t h;
        __builtin_memcpy(&h, p, 2);
        return half_to_float(h);
    }
};

struct BF16 {
    static constexpr size_t kBytes = 2;
    static inline VecI quad(const uint8_t* p, size_t stride) {
        static constexpr uint8_t kToHighHalf[16] = {128, 128, 0, 1, 128, 128, 2, 3, 128, 128, 4, 5, 128, 128, 6, 7};
        return shuffle(load_rows8(p, stride), pattern(kToHighHalf));
    }
    static inline float one(const uint8_t* p) {
        uint16_t h;
        __builtin_memcpy(&h, p, 2);
        const uint32_t bits = uint32_t(h) << 16;
        float x;
        __builtin_memcpy(&x, &bits, 4);
        return x;
    }
};

// Values k .. k + 3 of sixteen rows: out[i] lane r is value k + i of row r.
template <class Type>
inline void four_columns(const uint8_t* p, size_t stride, VecI (&out)[4]) {
    transpose_rows(Type::quad(p, stride), Type::quad(p + stride, stride), Type::quad(p + 2 * stride, stride),
                   Type::quad(p + 3 * stride, stride), out);
}

// Value k of sixteen rows.
template <class Type>
inline Vec one_column(const uint8_t* p, size_t stride) {
    alignas(64) float lanes[kPanelRows];
    for (size_t r = 0; r < kPanelRows; ++r) lanes[r] = Type::one(p + r * stride);
    return load(lanes);
}

template <class Type>
void matmul_rows_float(const std::byte* rows, size_t row_bytes, const Activations& x, size_t token, float* out) {
    const auto* p = reinterpret_cast<const uint8_t*>(rows);
    const uint8_t* ahead = p + kPanelRows * row_bytes;
    const float* a = x.x + token * x.n_in;
    Vec acc = zero();
    size_t k = 0;
    for (; k + 4 <= x.n_in; k += 4, p += 4 * Type::kBytes) {
        for (size_t line = 0; line < kPanelRows * 4 * Type::kBytes; line += 64) prefetch(ahead + line);
        ahead += kPanelRows * 4 * Type::kBytes;
        VecI w[4];
        four_columns<Type>(p, row_bytes, w);
        for (int i = 0; i < 4; ++i) acc = fma(as_floats(w[i]), all(a[k + size_t(i)]), acc);
    }
    for (; k < x.n_in; ++k, p += Type::kBytes) acc = fma(one_column<Type>(p, row_bytes), all(a[k]), acc);
    store(acc, out);
}

template <class Type>
void matmul_pack_float(const std::byte* rows, size_t row_bytes, size_t n_in, std::byte* panel) {
    const auto* p = reinterpret_cast<const uint8_t*>(rows);
    size_t k = 0;
    for (; k + 4 <= n_in; k += 4, p += 4 * Type::kBytes) {
        VecI w[4];
        four_columns<Type>(p, row_bytes, w);
        for (int i = 0; i < 4; ++i, panel += 64) store_bytes(w[i], panel);
    }
    for (; k < n_in; ++k, p += Type::kBytes, panel += 64)
        store_bytes(as_integers(one_column<Type>(p, row_bytes)), panel);
}

// p panels, n tokens: a broadcast serves all panels, and p * n chains of fma hide its latency.
template <int p, int n>
inline void panel_tokens_float(const std::byte* panels, size_t panel_bytes, const Activations& x, size_t token,
                               float* out, size_t out_stride) {
    const auto* w = reinterpret_cast<const float*>(panels);
    const size_t stride = panel_bytes / sizeof(float);
    const float* a = x.x + token * x.n_in;
    Vec acc[p][n];
#pragma GCC unroll 16
    for (int i = 0; i < p; ++i)
#pragma GCC unroll 16
        for (int t = 0; t < n; ++t) acc[i][t] = zero();
#pragma GCC unroll 4
    for (size_t k = 0; k < x.n_in; ++k, w += kPanelRows) {
        Vec column[p];
#pragma GCC unroll 16
        for (int i = 0; i < p; ++i) column[i] = load(w + size_t(i) * stride);
#pragma GCC unroll 16
        for (int t = 0; t < n; ++t) {
            const Vec v = all(a[size_t(t) * x.n_in + k]);
#pragma GCC unroll 16
            for (int i = 0; i < p; ++i) acc[i][t] = fma(column[i], v, acc[i][t]);
        }
    }
#pragma GCC unroll 16
    for (int t = 0; t < n; ++t)
#pragma GCC unroll 16
        for (int i = 0; i < p; ++i) store(acc[i][t], out + size_t(t) * out_stride + size_t(i) * kPanelRows);
}

template <int n>
inline void all_panels_float(const std::byte* panels, size_t panel_bytes, size_t n_panel, const Activations& x,
                             size_t token, float* out, size_t out_stride) {
    size_t i = 0;
    for (; i + kPanelsFloat <= n_panel; i += kPanelsFloat)
        panel_tokens_float<kPanelsFloat, n>(panels + i * panel_bytes, panel_bytes, x, token, out + i * kPanelRows,
                                            out_stride);
    for (; i < n_panel; ++i)
        panel_tokens_float<1, n>(panels + i * panel_bytes, panel_bytes, x, token, out + i * kPanelRows, out_stride);
}

void matmul_panel_float(const std::byte* panels, size_t panel_bytes, size_t n_panel, const Activations& x, size_t token,
                        size_t n_token, float* out, size_t out_stride) {
    size_t t = 0;
    for (; t + kTokensFloat <= n_token; t += kTokensFloat)
        all_panels_float<kTokensFloat>(panels, panel_bytes, n_panel, x, token + t, out + t * out_stride, out_stride);
    for (; t + 4 <= n_token; t += 4)
        all_panels_float<4>(panels, panel_bytes, n_panel, x, token + t, out + t * out_stride, out_stride);
    for (; t < n_token; ++t)
        all_panels_float<1>(panels, panel_bytes, n_panel, x, token + t, out + t * out_stride, out_stride);
}
