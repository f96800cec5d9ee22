// Eight lanes of AVX2 with FMA and F16C. See encoders.inl.

struct Mask {
    __m256 v;  // all bits of a lane, or none
};
inline Mask operator&(Mask a, Mask b) { return {_mm256_and_ps(a.v, b.v)}; }
inline Mask operator|(Mask a, Mask b) { return {_mm256_or_ps(a.v, b.v)}; }
inline Mask operator~(Mask a) { return {_mm256_xor_ps(a.v, _mm256_castsi256_ps(_mm256_set1_epi32(-1)))}; }
inline bool any(Mask a) { return _mm256_movemask_ps(a.v) != 0; }

struct Floats {
    __m256 v;
    static Floats all(float x) { return {_mm256_set1_ps(x)}; }
    static Floats load(const float* p) { return {_mm256_loadu_ps(p)}; }
    // Binary16, of which a NaN becomes quiet.
    static Floats load_halves(const uint8_t* p) {
        return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
    }
    void store(float* p) const { _mm256_storeu_ps(p, v); }
};
inline Floats operator+(Floats a, Floats b) { return {_mm256_add_ps(a.v, b.v)}; }
inline Floats operator-(Floats a, Floats b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline Floats operator*(Floats a, Floats b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline Floats operator/(Floats a, Floats b) { return {_mm256_div_ps(a.v, b.v)}; }
inline Floats operator-(Floats a) { return {_mm256_xor_ps(a.v, _mm256_set1_ps(-0.0f))}; }
inline Floats fma(Floats a, Floats b, Floats c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
inline Floats sqrt(Floats a) { return {_mm256_sqrt_ps(a.v)}; }
inline Floats abs(Floats a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.v)}; }
inline Floats lesser(Floats a, Floats b) { return {_mm256_min_ps(a.v, b.v)}; }  // of two numbers, no NaN
inline Floats greater(Floats a, Floats b) { return {_mm256_max_ps(a.v, b.v)}; }
inline Mask operator<(Floats a, Floats b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)}; }
inline Mask operator==(Floats a, Floats b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_EQ_OQ)}; }
inline Floats select(Mask m, Floats a, Floats b) { return {_mm256_blendv_ps(b.v, a.v, m.v)}; }

struct Ints {
    __m256i v;
    static Ints all(int32_t x) { return {_mm256_set1_epi32(x)}; }
    static Ints load_bytes(const uint8_t* p) {
        return {_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))};
    }
    static Ints load_words(const uint8_t* p) {  // of 16 bits
        return {_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
    }
    void store_bytes(uint8_t* p) const {  // the low byte of each lane
        const __m256i low = _mm256_and_si256(v, _mm256_set1_epi32(255));
        const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(words, words));
    }
    void store_words(uint8_t* p) const {  // the low 16 bits of each lane
        const __m256i low = _mm256_and_si256(v, _mm256_set1_epi32(0xffff));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                         _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1)));
    }
};
inline Ints operator+(Ints a, Ints b) { return {_mm256_add_epi32(a.v, b.v)}; }
inline Ints operator-(Ints a, Ints b) { return {_mm256_sub_epi32(a.v, b.v)}; }
inline Ints operator&(Ints a, Ints b) { return {_mm256_and_si256(a.v, b.v)}; }
inline Ints operator|(Ints a, Ints b) { return {_mm256_or_si256(a.v, b.v)}; }
template <int kBits>
Ints shift_left(Ints a) {
    return {_mm256_slli_epi32(a.v, kBits)};
}
template <int kBits>
Ints shift_right(Ints a) {  // copies of the sign come in
    return {_mm256_srai_epi32(a.v, kBits)};
}
inline Ints min(Ints a, Ints b) { return {_mm256_min_epi32(a.v, b.v)}; }
inline Ints max(Ints a, Ints b) { return {_mm256_max_epi32(a.v, b.v)}; }
inline Mask operator<(Ints a, Ints b) { return {_mm256_castsi256_ps(_mm256_cmpgt_epi32(b.v, a.v))}; }
inline Mask operator==(Ints a, Ints b) { return {_mm256_castsi256_ps(_mm256_cmpeq_epi32(a.v, b.v))}; }
inline Ints select(Mask m, Ints a, Ints b) { return {_mm256_blendv_epi8(b.v, a.v, _mm256_castps_si256(m.v))}; }

inline Floats to_floats(Ints a) { return {_mm256_cvtepi32_ps(a.v)}; }
inline Ints truncate_in_range(Floats a) { return {_mm256_cvttps_epi32(a.v)}; }
inline Ints bits(Floats a) { return {_mm256_castps_si256(a.v)}; }
inline Floats from_bits(Ints a) { return {_mm256_castsi256_ps(a.v)}; }

constexpr int kLanes = 8;

#include "quant/transpose_x86.inl"

// x[i][lane] = rows[lane][i]. Blocks hold a multiple of 8 values.
inline void values_to_lanes(const float* const (&rows)[kLanes], int n, float* x) {
    for (int first = 0; first < n; first += 8) {
        __m256 a[8], b[8];
        for (int row = 0; row < 8; ++row) a[row] = _mm256_loadu_ps(rows[row] + first);
        for (int i = 0; i < 8; i += 2) {
            b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
            b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
        }
        for (int i = 0; i < 8; i += 4)
            for (int k = 0; k < 2; ++k) {
                const __m256d even = _mm256_castps_pd(b[i + k]), odd = _mm256_castps_pd(b[i + 2 + k]);
                a[i + 2 * k] = _mm256_castpd_ps(_mm256_unpacklo_pd(even, odd));
                a[i + 2 * k + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(even, odd));
            }
        // Half h of a[4 g + c] is now column 4 h + c of rows 4 g to 4 g + 3.
        for (int c = 0; c < 4; ++c) {
            float* out = x + (first + c) * kLanes;
            _mm256_storeu_ps(out, _mm256_permute2f128_ps(a[c], a[4 + c], 0x20));
            _mm256_storeu_ps(out + 4 * kLanes, _mm256_permute2f128_ps(a[c], a[4 + c], 0x31));
        }
    }
}
