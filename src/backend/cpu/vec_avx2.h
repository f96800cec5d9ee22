// Sixteen lanes as two AVX2 registers, with FMA and F16C. The functions are those of vec_avx512.h, which describes
// them; included by kernels_avx2.cpp only, in its unnamed namespace.
constexpr int kTokensInteger = 2;  // 2 integer sums, 2 word sums and 2 float sums, of two registers each, out of 16
constexpr int kTokensCompact = 2;
constexpr int kTokensFloat = 6,
              kPanelsFloat = 1;  // 6 chains of two registers, a column and a broadcast of 16 registers
constexpr int kQueriesAtOnce = 2;
constexpr int kValuesAtOnce = 2;
constexpr int kKeysAtOnce = 4;
constexpr int kLanesAtOnce = 1;

struct Vec {
    __m256 low, high;
};
struct VecI {
    __m256i low, high;
};

// All ones in the first n of 8 lanes from lane `from` on.
inline __m256i first(size_t n, int from) {
    const int count = n > 16 ? 16 : int(n);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count - from), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

inline Vec zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
inline Vec all(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
inline Vec load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline void store(Vec x, float* p) {
    _mm256_storeu_ps(p, x.low);
    _mm256_storeu_ps(p + 8, x.high);
}
inline Vec load(const float* p, size_t n) {
    if (n >= 16) return load(p);
    return {_mm256_maskload_ps(p, first(n, 0)), n > 8 ? _mm256_maskload_ps(p + 8, first(n, 8)) : _mm256_setzero_ps()};
}
inline void store(Vec x, float* p, size_t n) {
    if (n >= 16) return store(x, p);
    _mm256_maskstore_ps(p, first(n, 0), x.low);
    if (n > 8) _mm256_maskstore_ps(p + 8, first(n, 8), x.high);
}
inline Vec keep_first(Vec x, size_t n, Vec fill) {
    return {_mm256_blendv_ps(fill.low, x.low, _mm256_castsi256_ps(first(n, 0))),
            _mm256_blendv_ps(fill.high, x.high, _mm256_castsi256_ps(first(n, 8)))};
}

inline Vec operator+(Vec a, Vec b) { return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)}; }
inline Vec operator-(Vec a, Vec b) { return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)}; }
inline Vec operator*(Vec a, Vec b) { return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)}; }
inline Vec operator/(Vec a, Vec b) { return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)}; }
inline Vec fma(Vec a, Vec b, Vec c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
inline Vec fnma(Vec a, Vec b, Vec c) {
    return {_mm256_fnmadd_ps(a.low, b.low, c.low), _mm256_fnmadd_ps(a.high, b.high, c.high)};
}
inline Vec negate(Vec a) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return {_mm256_xor_ps(a.low, sign), _mm256_xor_ps(a.high, sign)};
}
inline Vec max(Vec a, Vec b) { return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)}; }
inline Vec min(Vec a, Vec b) { return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)}; }
inline float max_lane(Vec x) {
    const __m256 a = _mm256_max_ps(x.low, x.high);
    const __m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 c = _mm_max_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_max_ss(c, _mm_movehdup_ps(c)));
}
// By two factors, for the power may not be a float. The first product is exact for |x| near 1 and |n| < 252.
inline __m256 power_of_two(__m256i n) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}
inline __m256 times_power_of_two(__m256 x, __m256 n) {
    const __m256i i = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(i, 1);
    return _mm256_mul_ps(_mm256_mul_ps(x, power_of_two(_mm256_sub_epi32(i, half))), power_of_two(half));
}
inline Vec times_power_of_two(Vec x, Vec n) {
    return {times_power_of_two(x.low, n.low), times_power_of_two(x.high, n.high)};
}
inline float square_root(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }

inline float tree(Vec x) {
    const __m256 a = _mm256_add_ps(x.low, x.high);
    const __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 c = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
}

inline __m256 trees_of_8(const __m256 (&x)[4][2]) {
    __m256 quarters[4];
    for (int i = 0; i < 4; ++i)
        quarters[i] = _mm256_add_ps(_mm256_permute2f128_ps(x[i][0], x[i][1], 0x20),
                                    _mm256_permute2f128_ps(x[i][0], x[i][1], 0x31));
    const __m256 c = _mm256_add_ps(_mm256_shuffle_ps(quarters[0], quarters[1], 0x44),
                                   _mm256_shuffle_ps(quarters[0], quarters[1], 0xee));
    const __m256 d = _mm256_add_ps(_mm256_shuffle_ps(quarters[2], quarters[3], 0x44),
                                   _mm256_shuffle_ps(quarters[2], quarters[3], 0xee));
    return _mm256_add_ps(_mm256_shuffle_ps(c, d, 0x88), _mm256_shuffle_ps(c, d, 0xdd));
}
inline Vec trees(const Vec (&x)[16]) {
    __m256 first_8[4][2], last_8[4][2];
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 2; ++j) {
            first_8[i][j] = _mm256_add_ps(x[4 * j + i].low, x[4 * j + i].high);
            last_8[i][j] = _mm256_add_ps(x[8 + 4 * j + i].low, x[8 + 4 * j + i].high);
        }
    return {trees_of_8(first_8), trees_of_8(last_8)};
}
inline float first_lane(Vec x) { return _mm256_cvtss_f32(x.low); }
inline Vec each_twice(Vec x) {
    return {_mm256_permutevar8x32_ps(x.low, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3)),
            _mm256_permutevar8x32_ps(x.low, _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7))};
}
inline Vec swap_pairs(Vec x) { return {_mm256_permute_ps(x.low, 0xb1), _mm256_permute_ps(x.high, 0xb1)}; }
inline Vec negate_even(Vec x) {
    const __m256 sign = _mm256_castsi256_ps(_mm256_set1_epi64x(0x80000000));
    return {_mm256_xor_ps(x.low, sign), _mm256_xor_ps(x.high, sign)};
}

inline VecI zero_integers() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
inline VecI all8(int x) { return {_mm256_set1_epi8(char(x)), _mm256_set1_epi8(char(x))}; }
inline VecI all16(int x) { return {_mm256_set1_epi16(short(x)), _mm256_set1_epi16(short(x))}; }
inline VecI all32(int x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
inline VecI load_bytes(const void* p) {
    const auto* q = static_cast<const __m256i*>(p);
    return {_mm256_loadu_si256(q), _mm256_loadu_si256(q + 1)};
}
inline void store_bytes(VecI x, void* p) {
    auto* q = static_cast<__m256i*>(p);
    _mm256_storeu_si256(q, x.low);
    _mm256_storeu_si256(q + 1, x.high);
}
inline VecI repeat16(const void* p) {
    const __m256i x = _mm256_broadcastsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(p)));
    return {x, x};
}
inline VecI repeat4(const void* p) {
    int x;
    __builtin_memcpy(&x, p, 4);
    return all32(x);
}
inline VecI load_rows(const uint8_t* p, size_t stride) {
    return {_mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i*)p)),
                                    _mm_loadu_si128((const __m128i*)(p + 4 * stride)), 1),
            _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i*)(p + 8 * stride))),
                                    _mm_loadu_si128((const __m128i*)(p + 12 * stride)), 1)};
}
inline VecI load_rows(const float* const* rows, size_t offset) {
    const auto pair = [&](int low, int high) __attribute__((always_inline)) {
        return _mm256_castps_si256(_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(rows[low] + offset)),
                                                        _mm_loadu_ps(rows[high] + offset), 1));
    };
    return {pair(0, 4), pair(8, 12)};
}
inline VecI load_rows8(const uint8_t* p, size_t stride) {
    const __m256i a = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadl_epi64((const __m128i*)p)),
                                              _mm_loadl_epi64((const __m128i*)(p + 4 * stride)), 1);
    const __m256i b = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadl_epi64((const __m128i*)(p + 8 * stride))),
                                              _mm_loadl_epi64((const __m128i*)(p + 12 * stride)), 1);
    return {_mm256_unpacklo_epi64(a, a), _mm256_unpacklo_epi64(b, b)};
}
struct RowStride {
    __m256i low, high;
    explicit RowStride(size_t stride)
        : low(_mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(int(stride)))),
          high(_mm256_mullo_epi32(_mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15), _mm256_set1_epi32(int(stride)))) {}
};
inline VecI load_lanes(const uint8_t* p, const RowStride& stride) {
    return {_mm256_i32gather_epi32((const int*)p, stride.low, 1),
            _mm256_i32gather_epi32((const int*)p, stride.high, 1)};
}

inline VecI operator&(VecI a, VecI b) { return {_mm256_and_si256(a.low, b.low), _mm256_and_si256(a.high, b.high)}; }
inline VecI operator^(VecI a, VecI b) { return {_mm256_xor_si256(a.low, b.low), _mm256_xor_si256(a.high, b.high)}; }
inline VecI operator|(VecI a, VecI b) { return {_mm256_or_si256(a.low, b.low), _mm256_or_si256(a.high, b.high)}; }
template <int n>
inline VecI shift_right16(VecI a) {
    return {_mm256_srli_epi16(a.low, n), _mm256_srli_epi16(a.high, n)};
}
template <int n>
inline VecI shift_left16(VecI a) {
    return {_mm256_slli_epi16(a.low, n), _mm256_slli_epi16(a.high, n)};
}
template <int n>
inline VecI shift_right16_signed(VecI a) {
    return {_mm256_srai_epi16(a.low, n), _mm256_srai_epi16(a.high, n)};
}
template <int n>
inline VecI shift_left32(VecI a) {
    return {_mm256_slli_epi32(a.low, n), _mm256_slli_epi32(a.high, n)};
}
template <int n>
inline VecI shift_right32(VecI a) {
    return {_mm256_srli_epi32(a.low, n), _mm256_srli_epi32(a.high, n)};
}
template <int n>
inline VecI shift_right32_signed(VecI a) {
    return {_mm256_srai_epi32(a.low, n), _mm256_srai_epi32(a.high, n)};
}
inline VecI add8(VecI a, VecI b) { return {_mm256_add_epi8(a.low, b.low), _mm256_add_epi8(a.high, b.high)}; }
inline VecI add16(VecI a, VecI b) { return {_mm256_add_epi16(a.low, b.low), _mm256_add_epi16(a.high, b.high)}; }
inline VecI add32(VecI a, VecI b) { return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)}; }
inline VecI sub32(VecI a, VecI b) { return {_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)}; }
inline VecI shuffle(VecI a, VecI pattern) {
    return {_mm256_shuffle_epi8(a.low, pattern.low), _mm256_shuffle_epi8(a.high, pattern.high)};
}
inline VecI bytes_with_bits(VecI bits, VecI mask) {
    return {_mm256_cmpeq_epi8(_mm256_and_si256(bits.low, mask.low), mask.low),
            _mm256_cmpeq_epi8(_mm256_and_si256(bits.high, mask.high), mask.high)};
}
inline VecI unpack_low32(VecI a, VecI b) {
    return {_mm256_unpacklo_epi32(a.low, b.low), _mm256_unpacklo_epi32(a.high, b.high)};
}
inline VecI unpack_high32(VecI a, VecI b) {
    return {_mm256_unpackhi_epi32(a.low, b.low), _mm256_unpackhi_epi32(a.high, b.high)};
}
inline VecI unpack_low64(VecI a, VecI b) {
    return {_mm256_unpacklo_epi64(a.low, b.low), _mm256_unpacklo_epi64(a.high, b.high)};
}
inline VecI unpack_high64(VecI a, VecI b) {
    return {_mm256_unpackhi_epi64(a.low, b.low), _mm256_unpackhi_epi64(a.high, b.high)};
}
inline VecI multiply_unsigned(VecI u, VecI a) {
    return {_mm256_maddubs_epi16(u.low, a.low), _mm256_maddubs_epi16(u.high, a.high)};
}
inline VecI multiply_signed(VecI w, VecI a) {
    return {_mm256_maddubs_epi16(_mm256_abs_epi8(w.low), _mm256_sign_epi8(a.low, w.low)),
            _mm256_maddubs_epi16(_mm256_abs_epi8(w.high), _mm256_sign_epi8(a.high, w.high))};
}
inline VecI multiply_words(VecI a, VecI b) {
    return {_mm256_madd_epi16(a.low, b.low), _mm256_madd_epi16(a.high, b.high)};
}
inline VecI multiply_low_words(VecI a, VecI b) {
    return {_mm256_mullo_epi16(a.low, b.low), _mm256_mullo_epi16(a.high, b.high)};
}
// Words times b.
inline VecI multiply_low_words(VecI a, int b) {
    return {_mm256_mullo_epi16(a.low, _mm256_set1_epi16(short(b))),
            _mm256_mullo_epi16(a.high, _mm256_set1_epi16(short(b)))};
}

inline VecI multiply32(VecI a, VecI b) {
    return {_mm256_mullo_epi32(a.low, b.low), _mm256_mullo_epi32(a.high, b.high)};
}

inline Vec to_float(VecI a) { return {_mm256_cvtepi32_ps(a.low), _mm256_cvtepi32_ps(a.high)}; }
inline VecI to_integers(Vec a) { return {_mm256_cvtps_epi32(a.low), _mm256_cvtps_epi32(a.high)}; }
inline Vec as_floats(VecI a) { return {_mm256_castsi256_ps(a.low), _mm256_castsi256_ps(a.high)}; }
inline VecI as_integers(Vec a) { return {_mm256_castps_si256(a.low), _mm256_castps_si256(a.high)}; }
// The low words of 8 lanes, in order.
inline __m128i low_words(__m256i a) {
    const __m256i packed = _mm256_shuffle_epi8(a, _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 0, 1, 4, 5, 8, 9, 12, 13,
                                                                   0, 1, 4, 5, 8, 9, 12, 13, 0, 1, 4, 5, 8, 9, 12, 13));
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08));
}
inline Vec low_halves(VecI a) { return {_mm256_cvtph_ps(low_words(a.low)), _mm256_cvtph_ps(low_words(a.high))}; }
inline Vec high_halves(VecI a) {
    return {_mm256_cvtph_ps(low_words(_mm256_srli_epi32(a.low, 16))),
            _mm256_cvtph_ps(low_words(_mm256_srli_epi32(a.high, 16)))};
}
inline float half_to_float(uint16_t x) { return _cvtsh_ss(x); }
inline Vec load_halves(const void* p) {
    const auto* q = static_cast<const __m128i*>(p);
    return {_mm256_cvtph_ps(_mm_loadu_si128(q)), _mm256_cvtph_ps(_mm_loadu_si128(q + 1))};
}
inline VecI load_words(const void* p) {
    const auto* q = static_cast<const __m128i*>(p);
    return {_mm256_cvtepu16_epi32(_mm_loadu_si128(q)), _mm256_cvtepu16_epi32(_mm_loadu_si128(q + 1))};
}
inline void store_low_words(VecI a, void* p) {
    auto* q = static_cast<__m128i*>(p);
    _mm_storeu_si128(q, low_words(a.low));
    _mm_storeu_si128(q + 1, low_words(a.high));
}
inline void store_halves(Vec x, void* p) {
    auto* halves = static_cast<__m128i*>(p);
    _mm_storeu_si128(halves, _mm256_cvtps_ph(x.low, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    _mm_storeu_si128(halves + 1, _mm256_cvtps_ph(x.high, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
inline Vec load_signed_bytes(const void* p) {
    const __m128i bytes = _mm_loadu_si128(static_cast<const __m128i*>(p));
    return to_float(VecI{_mm256_cvtepi8_epi32(bytes), _mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8))});
}
inline VecI max_unsigned32(VecI a, VecI b) {
    return {_mm256_max_epu32(a.low, b.low), _mm256_max_epu32(a.high, b.high)};
}
inline uint32_t max_lane_unsigned32(VecI a) {
    const __m256i x = _mm256_max_epu32(a.low, a.high);
    __m128i y = _mm_max_epu32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    y = _mm_max_epu32(y, _mm_shuffle_epi32(y, 0x4e));
    y = _mm_max_epu32(y, _mm_shuffle_epi32(y, 0xb1));
    return uint32_t(_mm_cvtsi128_si32(y));
}
inline VecI max_of_quarters32(VecI a) {
    const __m256i b = _mm256_max_epu32(a.low, a.high);
    const __m256i c = _mm256_max_epu32(b, _mm256_permute2x128_si256(b, b, 0x01));
    return {c, c};
}
inline void store_low_words(VecI a, int16_t* p) {
    _mm_storeu_si128((__m128i*)p, low_words(a.low));
    _mm_storeu_si128((__m128i*)(p + 8), low_words(a.high));
}
inline void store_low_bytes(VecI a, int8_t* p) {
    // low_words() gives 8 words in a register; the signed pack keeps values of -128 .. 127.
    _mm_storeu_si128((__m128i*)p, _mm_packs_epi16(low_words(a.low), low_words(a.high)));
}

inline void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }
