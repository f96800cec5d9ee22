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
    void store_bytes(uint8_t* p) const {  // the low byte of each lane
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(v));
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
