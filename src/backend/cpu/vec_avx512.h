// Sixteen lanes as one AVX-512 register. Included by kernels_avx512.cpp only, in its unnamed namespace: a symbol from a
// file built for one instruction set must not serve the rest of the program (scripts/check-isa-symbols). So nothing of
// the standard library is used here nor in the .inl files.
//
// Vec is 16 floats. VecI is 64 bytes: 16 int32, 32 int16 or 64 bytes, as the function says. "Quarter" is one of its
// four 16-byte parts; byte shuffles and unpacks work inside a quarter, so their meaning is the same with AVX2 and with
// NEON.
constexpr int kTokensInteger = 4;  // tokens that a panel kernel takes at once: 4 integer sums, 4 word sums and 4 float
                                   // sums fit 32 registers beside the weights
constexpr int kTokensCompact = 8;  // ... or 8 straight from a compact panel, with no word sums
constexpr int kTokensFloat = 12, kPanelsFloat = 2;  // 24 chains, two columns and a broadcast of 32 registers
constexpr int kQueriesAtOnce = 4;                   // with 2 vectors of keys and 2 lanes, or 4 of values: 16 chains
constexpr int kValuesAtOnce = 4;
constexpr int kKeysAtOnce = 16;  // keys whose products with a query are summed side by side
constexpr int kLanesAtOnce = 2;  // of a reduction whose lanes are vectors: 16 chains

struct Vec {
    __m512 v;
};
struct VecI {
    __m512i v;
};

inline __mmask16 first(size_t n) { return n >= 16 ? __mmask16(0xffff) : __mmask16((1u << n) - 1); }

inline Vec zero() { return {_mm512_setzero_ps()}; }
inline Vec all(float x) { return {_mm512_set1_ps(x)}; }
inline Vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline void store(Vec x, float* p) { _mm512_storeu_ps(p, x.v); }
// The first n values, n >= 16 meaning all; lanes past them are +0 and their memory is not touched.
inline Vec load(const float* p, size_t n) { return {_mm512_maskz_loadu_ps(first(n), p)}; }
inline void store(Vec x, float* p, size_t n) { _mm512_mask_storeu_ps(p, first(n), x.v); }
// The lanes from n on replaced by `fill`.
inline Vec keep_first(Vec x, size_t n, Vec fill) { return {_mm512_mask_mov_ps(fill.v, first(n), x.v)}; }

inline Vec operator+(Vec a, Vec b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Vec operator-(Vec a, Vec b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline Vec operator*(Vec a, Vec b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline Vec operator/(Vec a, Vec b) { return {_mm512_div_ps(a.v, b.v)}; }
inline Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }    // a * b + c
inline Vec fnma(Vec a, Vec b, Vec c) { return {_mm512_fnmadd_ps(a.v, b.v, c.v)}; }  // -(a * b) + c
inline Vec negate(Vec a) { return {_mm512_xor_ps(a.v, _mm512_set1_ps(-0.0f))}; }
// a > b ? a : b and a < b ? a : b, lane by lane: b where either is NaN.
inline Vec max(Vec a, Vec b) { return {_mm512_max_ps(a.v, b.v)}; }
inline Vec min(Vec a, Vec b) { return {_mm512_min_ps(a.v, b.v)}; }
// The largest lane, where none is NaN.
inline float max_lane(Vec x) { return _mm512_reduce_max_ps(x.v); }
// x * 2^n, rounded once; n is an integer.
inline Vec times_power_of_two(Vec x, Vec n) { return {_mm512_scalef_ps(x.v, n.v)}; }
inline float square_root(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }

// The tree of docs/numerics.md: i + 8, i + 4, i + 2, i + 1.
inline float tree(Vec x) {
    const __m256 a = _mm256_add_ps(_mm512_castps512_ps256(x.v), _mm512_extractf32x8_ps(x.v, 1));
    const __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 c = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
}

// Lane i: the tree of x[i].
inline Vec trees(const Vec (&x)[16]) {
    __m512 quarters[4];  // [i]: x[i], x[4 + i], x[8 + i], x[12 + i], four sums each
    for (int i = 0; i < 4; ++i) {
        const __m512 a = _mm512_add_ps(_mm512_shuffle_f32x4(x[i].v, x[4 + i].v, 0x44),
                                       _mm512_shuffle_f32x4(x[i].v, x[4 + i].v, 0xee));
        const __m512 b = _mm512_add_ps(_mm512_shuffle_f32x4(x[8 + i].v, x[12 + i].v, 0x44),
                                       _mm512_shuffle_f32x4(x[8 + i].v, x[12 + i].v, 0xee));
        quarters[i] = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
    }
    const __m512 c = _mm512_add_ps(_mm512_shuffle_ps(quarters[0], quarters[1], 0x44),
                                   _mm512_shuffle_ps(quarters[0], quarters[1], 0xee));
    const __m512 d = _mm512_add_ps(_mm512_shuffle_ps(quarters[2], quarters[3], 0x44),
                                   _mm512_shuffle_ps(quarters[2], quarters[3], 0xee));
    return {_mm512_add_ps(_mm512_shuffle_ps(c, d, 0x88), _mm512_shuffle_ps(c, d, 0xdd))};
}
inline float first_lane(Vec x) { return _mm512_cvtss_f32(x.v); }
// Lanes 2i and 2i + 1: value i of x; swapped; and the even ones negated.
inline Vec each_twice(Vec x) {
    return {_mm512_permutexvar_ps(_mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0), x.v)};
}
inline Vec swap_pairs(Vec x) { return {_mm512_permute_ps(x.v, 0xb1)}; }
inline Vec negate_even(Vec x) { return {_mm512_xor_ps(x.v, _mm512_castsi512_ps(_mm512_set1_epi64(0x80000000)))}; }

inline VecI zero_integers() { return {_mm512_setzero_si512()}; }
inline VecI all8(int x) { return {_mm512_set1_epi8(char(x))}; }
inline VecI all16(int x) { return {_mm512_set1_epi16(short(x))}; }
inline VecI all32(int x) { return {_mm512_set1_epi32(x)}; }
inline VecI load_bytes(const void* p) { return {_mm512_loadu_si512(p)}; }
inline void store_bytes(VecI x, void* p) { _mm512_storeu_si512(p, x.v); }
// 16 bytes in each quarter; 4 bytes in each of the 16 places.
inline VecI repeat16(const void* p) {
    return {_mm512_broadcast_i32x4(_mm_loadu_si128(static_cast<const __m128i*>(p)))};
}
inline VecI repeat4(const void* p) {
    int x;
    __builtin_memcpy(&x, p, 4);
    return {_mm512_set1_epi32(x)};
}
// Quarter i: 16 bytes at p + 4 i * stride, that is of rows 0, 4, 8 and 12.
inline VecI load_rows(const uint8_t* p, size_t stride) {
    const __m256i a = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i*)p)),
                                              _mm_loadu_si128((const __m128i*)(p + 4 * stride)), 1);
    const __m256i b = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i*)(p + 8 * stride))),
                                              _mm_loadu_si128((const __m128i*)(p + 12 * stride)), 1);
    return {_mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1)};
}
// Quarter i: 16 bytes at rows[4 i].
inline VecI load_rows(const float* const* rows, size_t offset) {
    const __m256 a =
        _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(rows[0] + offset)), _mm_loadu_ps(rows[4] + offset), 1);
    const __m256 b = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(rows[8] + offset)),
                                          _mm_loadu_ps(rows[12] + offset), 1);
    return {_mm512_castps_si512(_mm512_insertf32x8(_mm512_castps256_ps512(a), b, 1))};
}
// The same with 8 bytes a row: quarter i holds them twice.
inline VecI load_rows8(const uint8_t* p, size_t stride) {
    const __m256i a = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadl_epi64((const __m128i*)p)),
                                              _mm_loadl_epi64((const __m128i*)(p + 4 * stride)), 1);
    const __m256i b = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadl_epi64((const __m128i*)(p + 8 * stride))),
                                              _mm_loadl_epi64((const __m128i*)(p + 12 * stride)), 1);
    const __m512i x = _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
    return {_mm512_unpacklo_epi64(x, x)};
}
// Lane i: the 4 bytes at p + i * stride.
struct RowStride {
    __m512i offsets;
    explicit RowStride(size_t stride)
        : offsets(_mm512_mullo_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                                     _mm512_set1_epi32(int(stride)))) {}
};
inline VecI load_lanes(const uint8_t* p, const RowStride& stride) {
    return {_mm512_i32gather_epi32(stride.offsets, p, 1)};
}

inline VecI operator&(VecI a, VecI b) { return {_mm512_and_si512(a.v, b.v)}; }
inline VecI operator^(VecI a, VecI b) { return {_mm512_xor_si512(a.v, b.v)}; }
inline VecI operator|(VecI a, VecI b) { return {_mm512_or_si512(a.v, b.v)}; }
template <int n>
inline VecI shift_right16(VecI a) {
    return {_mm512_srli_epi16(a.v, n)};
}
template <int n>
inline VecI shift_left16(VecI a) {
    return {_mm512_slli_epi16(a.v, n)};
}
template <int n>
inline VecI shift_right16_signed(VecI a) {
    return {_mm512_srai_epi16(a.v, n)};
}
template <int n>
inline VecI shift_left32(VecI a) {
    return {_mm512_slli_epi32(a.v, n)};
}
template <int n>
inline VecI shift_right32(VecI a) {
    return {_mm512_srli_epi32(a.v, n)};
}
template <int n>
inline VecI shift_right32_signed(VecI a) {
    return {_mm512_srai_epi32(a.v, n)};
}
inline VecI add8(VecI a, VecI b) { return {_mm512_add_epi8(a.v, b.v)}; }
inline VecI add16(VecI a, VecI b) { return {_mm512_add_epi16(a.v, b.v)}; }
inline VecI add32(VecI a, VecI b) { return {_mm512_add_epi32(a.v, b.v)}; }
inline VecI sub32(VecI a, VecI b) { return {_mm512_sub_epi32(a.v, b.v)}; }
// Byte i of a quarter becomes byte pattern[i] of it, or 0 where pattern[i] >= 128.
inline VecI shuffle(VecI a, VecI pattern) { return {_mm512_shuffle_epi8(a.v, pattern.v)}; }
// all-ones bytes where the bit of `bits` that the byte of `mask` selects is set.
inline VecI bytes_with_bits(VecI bits, VecI mask) { return {_mm512_movm_epi8(_mm512_test_epi8_mask(bits.v, mask.v))}; }
inline VecI unpack_low32(VecI a, VecI b) { return {_mm512_unpacklo_epi32(a.v, b.v)}; }
inline VecI unpack_high32(VecI a, VecI b) { return {_mm512_unpackhi_epi32(a.v, b.v)}; }
inline VecI unpack_low64(VecI a, VecI b) { return {_mm512_unpacklo_epi64(a.v, b.v)}; }
inline VecI unpack_high64(VecI a, VecI b) { return {_mm512_unpackhi_epi64(a.v, b.v)}; }
// Words: sums of two neighbouring products of bytes. Exact for u <= 128 (unsigned), a in -127 .. 127 ...
inline VecI multiply_unsigned(VecI u, VecI a) { return {_mm512_maddubs_epi16(u.v, a.v)}; }
// ... and for w in -128 .. 127, a in -127 .. 127: |w| times a with w's sign.
inline VecI multiply_signed(VecI w, VecI a) {
    const __m512i signed_a = _mm512_mask_sub_epi8(a.v, _mm512_movepi8_mask(w.v), _mm512_setzero_si512(), a.v);
    return {_mm512_maddubs_epi16(_mm512_abs_epi8(w.v), signed_a)};
}
// int32: sums of two neighbouring products of words.
inline VecI multiply_words(VecI a, VecI b) { return {_mm512_madd_epi16(a.v, b.v)}; }
inline VecI multiply_low_words(VecI a, VecI b) { return {_mm512_mullo_epi16(a.v, b.v)}; }
// Words times b.
inline VecI multiply_low_words(VecI a, int b) { return {_mm512_mullo_epi16(a.v, _mm512_set1_epi16(short(b)))}; }

// int32: the low half of the products.
inline VecI multiply32(VecI a, VecI b) { return {_mm512_mullo_epi32(a.v, b.v)}; }

inline Vec to_float(VecI a) { return {_mm512_cvtepi32_ps(a.v)}; }
inline VecI to_integers(Vec a) { return {_mm512_cvtps_epi32(a.v)}; }  // ties to even
inline Vec as_floats(VecI a) { return {_mm512_castsi512_ps(a.v)}; }
inline VecI as_integers(Vec a) { return {_mm512_castps_si512(a.v)}; }
// The halves in the low, or high, two bytes of each lane.
inline Vec low_halves(VecI a) { return {_mm512_cvtph_ps(_mm512_cvtepi32_epi16(a.v))}; }
inline Vec high_halves(VecI a) { return {_mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(a.v, 16)))}; }
// One half.
inline float half_to_float(uint16_t x) { return _cvtsh_ss(x); }
// 16 halves, or bfloat16, or words without sign, that lie side by side.
inline Vec load_halves(const void* p) { return {_mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)))}; }
inline VecI load_words(const void* p) {
    return {_mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p)))};
}
// The low word of each lane, side by side.
inline void store_low_words(VecI a, void* p) {
    _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtepi32_epi16(a.v));
}
// 16 halves, side by side.
inline void store_halves(Vec x, void* p) {
    _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
// 16 signed bytes that lie side by side, as floats.
inline Vec load_signed_bytes(const void* p) {
    return to_float(VecI{_mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)))});
}
inline VecI max_unsigned32(VecI a, VecI b) { return {_mm512_max_epu32(a.v, b.v)}; }
inline uint32_t max_lane_unsigned32(VecI a) { return _mm512_reduce_max_epu32(a.v); }
// In every quarter: the largest of the quarters, lane by lane.
inline VecI max_of_quarters32(VecI a) {
    const __m512i b = _mm512_max_epu32(a.v, _mm512_shuffle_i32x4(a.v, a.v, 0x4e));
    return {_mm512_max_epu32(b, _mm512_shuffle_i32x4(b, b, 0xb1))};
}
// The low two bytes of each lane.
inline void store_low_words(VecI a, int16_t* p) { _mm256_storeu_si256((__m256i*)p, _mm512_cvtepi32_epi16(a.v)); }
// The low byte of each lane.
inline void store_low_bytes(VecI a, int8_t* p) { _mm_storeu_si128((__m128i*)p, _mm512_cvtepi32_epi8(a.v)); }

inline void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }
