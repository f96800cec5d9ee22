// Matmul by float weights: one chain of fma an output, k ascending, so a lane is an output row and rows are transposed
// on the way, 16 bytes of sixteen rows at a time.

struct F32 {
    static constexpr size_t kBytes = 4;
    static inline float one(const uint8_t* p) {
        float x;
        __builtin_memcpy(&x, p, 4);
        return x;
    }
    // The values of a dword of sixteen rows.
    static inline void decode(VecI dword, Vec* out) { out[0] = as_floats(dword); }
};

struct F16 {
    static constexpr size_t kBytes = 2;
    static inline float one(const uint8_t* p) {
        uint16_t h;
        __builtin_memcpy(&h, p, 2);
        return half_to_float(h);
    }
    static inline void decode(VecI dword, Vec* out) { out[0] = low_halves(dword), out[1] = high_halves(dword); }
};

struct BF16 {
    static constexpr size_t kBytes = 2;
    static inline float one(const uint8_t* p) {
        uint16_t h;
        __builtin_memcpy(&h, p, 2);
        const uint32_t bits = uint32_t(h) << 16;
        float x;
        __builtin_memcpy(&x, &bits, 4);
        return x;
    }
    static inline void decode(VecI dword, Vec* out) {
        out[0] = as_floats(shift_left32<16>(dword));
        out[1] = as_floats(dword & all32(int(0xffff0000)));
    }
};

template <class Type>
constexpr size_t kColumns = 16 / Type::kBytes;

// The next values of sixteen rows: out[i] lane r is value i of row r.
template <class Type>
inline void next_columns(const uint8_t* p, size_t stride, Vec (&out)[kColumns<Type>]) {
    VecI dwords[4];
    transpose_rows(load_rows(p, stride), load_rows(p + stride, stride), load_rows(p + 2 * stride, stride),
                   load_rows(p + 3 * stride, stride), dwords);
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) Type::decode(dwords[i], out + i * (kColumns<Type> / 4));
}

// Value k of sixteen rows.
template <class Type>
inline Vec one_column(const uint8_t* p, size_t stride) {
    alignas(64) float lanes[kPanelRows];
    for (size_t r = 0; r < kPanelRows; ++r) lanes[r] = Type::one(p + r * stride);
    return load(lanes);
}

// How far ahead of the sums a row is fetched. Sixteen rows are as many streams, which the processor follows better than
// one; what it does not see is that each goes on in the next sixteen rows where it ends.
constexpr size_t kBytesAhead = 512;

template <class Type>
void matmul_rows_float(const std::byte* rows, size_t row_bytes, const Activations& x, size_t token, float* out) {
    const auto* p = reinterpret_cast<const uint8_t*>(rows);
    const float* a = x.x + token * x.n_in;
    Vec acc = zero();
    size_t k = 0;
    for (; k + kColumns<Type> <= x.n_in; k += kColumns<Type>, p += 16) {
        if (k * Type::kBytes % 64 == 0) {
            const bool inside = k * Type::kBytes + kBytesAhead < row_bytes;
            const uint8_t* ahead = p + kBytesAhead + (inside ? 0 : (kPanelRows - 1) * row_bytes);
            for (size_t r = 0; r < kPanelRows; ++r) prefetch(ahead + r * row_bytes);
        }
        Vec w[kColumns<Type>];
        next_columns<Type>(p, row_bytes, w);
#pragma GCC unroll 8
        for (size_t i = 0; i < kColumns<Type>; ++i) acc = fma(w[i], all(a[k + i]), acc);
    }
    for (; k < x.n_in; ++k, p += Type::kBytes) acc = fma(one_column<Type>(p, row_bytes), all(a[k]), acc);
    store(acc, out);
}

template <class Type>
void matmul_pack_float(const std::byte* rows, size_t row_bytes, size_t n_in, std::byte* panel) {
    const auto* p = reinterpret_cast<const uint8_t*>(rows);
    size_t k = 0;
    for (; k + kColumns<Type> <= n_in; k += kColumns<Type>, p += 16) {
        Vec w[kColumns<Type>];
        next_columns<Type>(p, row_bytes, w);
#pragma GCC unroll 8
        for (size_t i = 0; i < kColumns<Type>; ++i, panel += 64) store_bytes(as_integers(w[i]), panel);
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
