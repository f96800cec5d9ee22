// Sixteen lanes of AVX-512 F. See encoders.inl.

struct Mask {
    __mmask16 v;
};
inline Mask operator&(Mask a, Mask b) { return {__mmask16(a.v & b.v)}; }
inline Mask operator|(Mask a, Mask b) { return {__mmask16(a.v | b.v)}; }
inline Mask operator~(Mask a) { return {__mmask16(~a.v)}; }
inline bool any(Mask a) { return a.v != 0; }

struct Floats {
    __m512 v;
    static Floats all(float x) { return {_mm512_set1_ps(x)}; }
    static Floats load(const float* p) { return {_mm512_loadu_ps(p)}; }
    // Binary16, of which a NaN becomes quiet.
    static Floats load_halves(const uint8_t* p) {
        return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
    }
    void store(float* p) const { _mm512_storeu_ps(p, v); }
};
inline Floats operator+(Floats a, Floats b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Floats operator-(Floats a, Floats b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline Floats operator*(Floats a, Floats b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline Floats operator/(Floats a, Floats b) { return {_mm512_div_ps(a.v, b.v)}; }
inline Floats operator-(Floats a) {
    return {_mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(a.v), _mm512_set1_epi32(INT32_MIN)))};
}
inline Floats fma(Floats a, Floats b, Floats c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline Floats sqrt(Floats a) { return {_mm512_sqrt_ps(a.v)}; }
inline Floats abs(Floats a) { return {_mm512_abs_ps(a.v)}; }
inline Floats lesser(Floats a, Floats b) { return {_mm512_min_ps(a.v, b.v)}; }  // of two numbers, no NaN
inline Floats greater(Floats a, Floats b) { return {_mm512_max_ps(a.v, b.v)}; }
inline Mask operator<(Floats a, Floats b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
inline Mask operator==(Floats a, Floats b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ)}; }
inline Floats select(Mask m, Floats a, Floats b) { return {_mm512_mask_blend_ps(m.v, b.v, a.v)}; }

struct Ints {
    __m512i v;
    static Ints all(int32_t x) { return {_mm512_set1_epi32(x)}; }
    static Ints load_bytes(const uint8_t* p) {
        return {_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
    }
    static Ints load_words(const uint8_t* p) {  // of 16 bits
        return {_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
    }
    void store_bytes(uint8_t* p) const {  // the low byte of each lane
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(v));
    }
    void store_words(uint8_t* p) const {  // the low 16 bits of each lane
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(v));
    }
};
inline Ints operator+(Ints a, Ints b) { return {_mm512_add_epi32(a.v, b.v)}; }
inline Ints operator-(Ints a, Ints b) { return {_mm512_sub_epi32(a.v, b.v)}; }
inline Ints operator&(Ints a, Ints b) { return {_mm512_and_si512(a.v, b.v)}; }
inline Ints operator|(Ints a, Ints b) { return {_mm512_or_si512(a.v, b.v)}; }
template <int kBits>
Ints shift_left(Ints a) {
    return {_mm512_slli_epi32(a.v, kBits)};
}
template <int kBits>
Ints shift_right(Ints a) {  // copies of the sign come in
    return {_mm512_srai_epi32(a.v, kBits)};
}
inline Ints min(Ints a, Ints b) { return {_mm512_min_epi32(a.v, b.v)}; }
inline Ints max(Ints a, Ints b) { return {_mm512_max_epi32(a.v, b.v)}; }
inline Mask operator<(Ints a, Ints b) { return {_mm512_cmplt_epi32_mask(a.v, b.v)}; }
inline Mask operator==(Ints a, Ints b) { return {_mm512_cmpeq_epi32_mask(a.v, b.v)}; }
inline Ints select(Mask m, Ints a, Ints b) { return {_mm512_mask_blend_epi32(m.v, b.v, a.v)}; }

inline Floats to_floats(Ints a) { return {_mm512_cvtepi32_ps(a.v)}; }
inline Ints truncate_in_range(Floats a) { return {_mm512_cvttps_epi32(a.v)}; }
inline Ints bits(Floats a) { return {_mm512_castps_si512(a.v)}; }
inline Floats from_bits(Ints a) { return {_mm512_castsi512_ps(a.v)}; }

constexpr int kLanes = 16;

#include "quant/transpose_x86.inl"

// x[i][lane] = rows[lane][i]. Blocks hold a multiple of 16 values.
inline void values_to_lanes(const float* const (&rows)[kLanes], int n, float* x) {
    for (int first = 0; first < n; first += 16) {
        __m512 a[16], b[16];
        for (int row = 0; row < 16; ++row) a[row] = _mm512_loadu_ps(rows[row] + first);
        for (int i = 0; i < 16; i += 2) {
            b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
            b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
        }
        for (int i = 0; i < 16; i += 4)
            for (int k = 0; k < 2; ++k) {
                const __m512d even = _mm512_castps_pd(b[i + k]), odd = _mm512_castps_pd(b[i + 2 + k]);
                a[i + 2 * k] = _mm512_castpd_ps(_mm512_unpacklo_pd(even, odd));
                a[i + 2 * k + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(even, odd));
            }
        // Quarter q of a[4 g + c] is now column 4 q + c of rows 4 g to 4 g + 3.
        for (int c = 0; c < 4; ++c) {
            const __m512 even_low = _mm512_shuffle_f32x4(a[c], a[4 + c], 0x88);
            const __m512 odd_low = _mm512_shuffle_f32x4(a[c], a[4 + c], 0xdd);
            const __m512 even_high = _mm512_shuffle_f32x4(a[8 + c], a[12 + c], 0x88);
            const __m512 odd_high = _mm512_shuffle_f32x4(a[8 + c], a[12 + c], 0xdd);
            float* out = x + (first + c) * kLanes;
            _mm512_storeu_ps(out, _mm512_shuffle_f32x4(even_low, even_high, 0x88));
            _mm512_storeu_ps(out + 4 * kLanes, _mm512_shuffle_f32x4(odd_low, odd_high, 0x88));
            _mm512_storeu_ps(out + 8 * kLanes, _mm512_shuffle_f32x4(even_low, even_high, 0xdd));
            _mm512_storeu_ps(out + 12 * kLanes, _mm512_shuffle_f32x4(odd_low, odd_high, 0xdd));
        }
    }
}
