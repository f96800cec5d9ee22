// Sixteen lanes as four NEON registers, with the base set's fma and f16 conversions. The functions are those of
// vec_avx512.h, which describes them; included by the kernels_neon*.cpp only, in their unnamed namespace.
//
// What is said there of NaN holds here because comparisons decide it: FMAX would give the NaN. to_integers() differs
// for what no int32 holds: NaN is 0 here and the smallest integer there, of which quantize_activations.inl takes the
// low byte, 0. The registers hold as much as those of AVX2, so the counts are those of vec_avx2.h.
constexpr int kTokensInteger = 2;
constexpr int kTokensCompact = 2;
constexpr int kTokensFloat = 6, kPanelsFloat = 1;
constexpr int kQueriesAtOnce = 2;
constexpr int kValuesAtOnce = 2;
constexpr int kKeysAtOnce = 4;
constexpr int kLanesAtOnce = 1;

struct Vec {
    float32x4_t q[4];  // the quarters
};
// The compilers cast vectors as bits.
struct VecI {
    uint8x16_t q[4];
};

// `f` of each quarter: an intrinsic, or a function of one quarter.
#define MINFER_EACH_1(f, a)                            \
    {                                                  \
        {                                              \
            f(a.q[0]), f(a.q[1]), f(a.q[2]), f(a.q[3]) \
        }                                              \
    }
#define MINFER_EACH_2(f, a, b)                                                         \
    {                                                                                  \
        {                                                                              \
            f(a.q[0], b.q[0]), f(a.q[1], b.q[1]), f(a.q[2], b.q[2]), f(a.q[3], b.q[3]) \
        }                                                                              \
    }
#define MINFER_EACH_3(f, a, b, c)                                                                                      \
    {                                                                                                                  \
        {                                                                                                              \
            f(a.q[0], b.q[0], c.q[0]), f(a.q[1], b.q[1], c.q[1]), f(a.q[2], b.q[2], c.q[2]), f(a.q[3], b.q[3], c.q[3]) \
        }                                                                                                              \
    }

// How many of the first n lanes are in quarter i: 0 to 4.
inline size_t in_quarter(size_t n, size_t i) { return n <= 4 * i ? 0 : n - 4 * i >= 4 ? 4 : n - 4 * i; }
inline float32x4_t load_first(const float* p, size_t n) {
    float32x4_t x = vdupq_n_f32(0);
    if (n == 4) x = vld1q_f32(p);
    if (n & 2) x = vcombine_f32(vld1_f32(p), vget_low_f32(x));
    if (n == 1) x = vld1q_lane_f32(p, x, 0);
    if (n == 3) x = vld1q_lane_f32(p + 2, x, 2);
    return x;
}
inline void store_first(float32x4_t x, float* p, size_t n) {
    if (n == 4) vst1q_f32(p, x);
    if (n & 2) vst1_f32(p, vget_low_f32(x));
    if (n == 1) vst1q_lane_f32(p, x, 0);
    if (n == 3) vst1q_lane_f32(p + 2, x, 2);
}
// All ones in the lanes of quarter i that are among the first n.
inline uint32x4_t first(size_t n, size_t i) {
    return vcltq_u32(uint32x4_t{0, 1, 2, 3}, vdupq_n_u32(uint32_t(in_quarter(n, i))));
}

inline Vec all(float x) { return {{vdupq_n_f32(x), vdupq_n_f32(x), vdupq_n_f32(x), vdupq_n_f32(x)}}; }
inline Vec zero() { return all(0); }
inline Vec load(const float* p) { return {{vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)}}; }
inline void store(Vec x, float* p) {
    vst1q_f32(p, x.q[0]);
    vst1q_f32(p + 4, x.q[1]);
    vst1q_f32(p + 8, x.q[2]);
    vst1q_f32(p + 12, x.q[3]);
}
inline Vec load(const float* p, size_t n) {
    if (n >= 16) return load(p);
    return {{load_first(p, in_quarter(n, 0)), load_first(p + 4, in_quarter(n, 1)), load_first(p + 8, in_quarter(n, 2)),
             load_first(p + 12, in_quarter(n, 3))}};
}
inline void store(Vec x, float* p, size_t n) {
    if (n >= 16) return store(x, p);
    for (size_t i = 0; i < 4; ++i) store_first(x.q[i], p + 4 * i, in_quarter(n, i));
}
inline Vec keep_first(Vec x, size_t n, Vec fill) {
    return {{vbslq_f32(first(n, 0), x.q[0], fill.q[0]), vbslq_f32(first(n, 1), x.q[1], fill.q[1]),
             vbslq_f32(first(n, 2), x.q[2], fill.q[2]), vbslq_f32(first(n, 3), x.q[3], fill.q[3])}};
}

inline Vec operator+(Vec a, Vec b) { return MINFER_EACH_2(vaddq_f32, a, b); }
inline Vec operator-(Vec a, Vec b) { return MINFER_EACH_2(vsubq_f32, a, b); }
inline Vec operator*(Vec a, Vec b) { return MINFER_EACH_2(vmulq_f32, a, b); }
inline Vec operator/(Vec a, Vec b) { return MINFER_EACH_2(vdivq_f32, a, b); }
inline Vec fma(Vec a, Vec b, Vec c) { return MINFER_EACH_3(vfmaq_f32, c, a, b); }
inline Vec fnma(Vec a, Vec b, Vec c) { return MINFER_EACH_3(vfmsq_f32, c, a, b); }
inline Vec negate(Vec a) { return MINFER_EACH_1(vnegq_f32, a); }
inline float32x4_t greater(float32x4_t a, float32x4_t b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
inline Vec max(Vec a, Vec b) { return MINFER_EACH_2(greater, a, b); }
inline float32x4_t less(float32x4_t a, float32x4_t b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
inline Vec min(Vec a, Vec b) { return MINFER_EACH_2(less, a, b); }
inline float max_lane(Vec x) { return vmaxvq_f32(vmaxq_f32(vmaxq_f32(x.q[0], x.q[1]), vmaxq_f32(x.q[2], x.q[3]))); }
// By two factors, for the power may not be a float. The first product is exact for |x| near 1 and |n| < 252.
inline float32x4_t power_of_two(int32x4_t n) { return (float32x4_t)vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23); }
inline float32x4_t times_power_of_two(float32x4_t x, float32x4_t n) {
    const int32x4_t i = vcvtnq_s32_f32(n), half = vshrq_n_s32(i, 1);
    return vmulq_f32(vmulq_f32(x, power_of_two(vsubq_s32(i, half))), power_of_two(half));
}
inline Vec times_power_of_two(Vec x, Vec n) { return MINFER_EACH_2(times_power_of_two, x, n); }
inline float square_root(float x) { return vget_lane_f32(vsqrt_f32(vdup_n_f32(x)), 0); }

// The tree's first two steps; the other two are inside a register.
inline float32x4_t four_sums(Vec x) { return vaddq_f32(vaddq_f32(x.q[0], x.q[2]), vaddq_f32(x.q[1], x.q[3])); }
inline float tree(Vec x) {
    const float32x4_t b = four_sums(x);
    const float32x2_t c = vadd_f32(vget_low_f32(b), vget_high_f32(b));
    return vget_lane_f32(c, 0) + vget_lane_f32(c, 1);
}
// The third step of two trees.
inline float32x4_t two_sums(Vec x, Vec y) {
    const auto a = (float64x2_t)four_sums(x), b = (float64x2_t)four_sums(y);
    return vaddq_f32((float32x4_t)vzip1q_f64(a, b), (float32x4_t)vzip2q_f64(a, b));
}
inline float32x4_t four_trees(const Vec* x) { return vpaddq_f32(two_sums(x[0], x[1]), two_sums(x[2], x[3])); }
inline Vec trees(const Vec (&x)[16]) {
    return {{four_trees(x), four_trees(x + 4), four_trees(x + 8), four_trees(x + 12)}};
}
inline float first_lane(Vec x) { return vgetq_lane_f32(x.q[0], 0); }
inline Vec each_twice(Vec x) {
    return {{vzip1q_f32(x.q[0], x.q[0]), vzip2q_f32(x.q[0], x.q[0]), vzip1q_f32(x.q[1], x.q[1]),
             vzip2q_f32(x.q[1], x.q[1])}};
}
inline Vec swap_pairs(Vec x) { return MINFER_EACH_1(vrev64q_f32, x); }
inline float32x4_t negate_even(float32x4_t x) { return (float32x4_t)((uint64x2_t)x ^ vdupq_n_u64(0x80000000)); }
inline Vec negate_even(Vec x) { return MINFER_EACH_1(negate_even, x); }

inline VecI four_times(uint8x16_t x) { return {{x, x, x, x}}; }
inline VecI all8(int x) { return four_times(vdupq_n_u8(uint8_t(x))); }
inline VecI all16(int x) { return four_times((uint8x16_t)vdupq_n_s16(int16_t(x))); }
inline VecI all32(int x) { return four_times((uint8x16_t)vdupq_n_s32(x)); }
inline VecI zero_integers() { return all8(0); }
inline VecI load_bytes(const void* p) {
    const auto* from = static_cast<const uint8_t*>(p);
    return {{vld1q_u8(from), vld1q_u8(from + 16), vld1q_u8(from + 32), vld1q_u8(from + 48)}};
}
inline void store_bytes(VecI x, void* p) {
    auto* to = static_cast<uint8_t*>(p);
    vst1q_u8(to, x.q[0]);
    vst1q_u8(to + 16, x.q[1]);
    vst1q_u8(to + 32, x.q[2]);
    vst1q_u8(to + 48, x.q[3]);
}
inline VecI repeat16(const void* p) { return four_times(vld1q_u8(static_cast<const uint8_t*>(p))); }
inline VecI repeat4(const void* p) {
    int x;
    __builtin_memcpy(&x, p, 4);
    return all32(x);
}
inline VecI load_rows(const uint8_t* p, size_t stride) {
    return {{vld1q_u8(p), vld1q_u8(p + 4 * stride), vld1q_u8(p + 8 * stride), vld1q_u8(p + 12 * stride)}};
}
inline uint8x16_t load_four(const float* p) { return (uint8x16_t)vld1q_f32(p); }
inline VecI load_rows(const float* const* rows, size_t offset) {
    return {{load_four(rows[0] + offset), load_four(rows[4] + offset), load_four(rows[8] + offset),
             load_four(rows[12] + offset)}};
}
inline uint8x16_t load_twice(const uint8_t* p) { return vcombine_u8(vld1_u8(p), vld1_u8(p)); }
inline VecI load_rows8(const uint8_t* p, size_t stride) {
    return {{load_twice(p), load_twice(p + 4 * stride), load_twice(p + 8 * stride), load_twice(p + 12 * stride)}};
}
struct RowStride {
    size_t bytes;
    explicit RowStride(size_t stride) : bytes(stride) {}
};
inline uint8x16_t load_four_lanes(const uint8_t* p, size_t stride) {
    uint32_t x[4];
    for (size_t i = 0; i < 4; ++i) __builtin_memcpy(&x[i], p + i * stride, 4);
    return (uint8x16_t)uint32x4_t{x[0], x[1], x[2], x[3]};
}
inline VecI load_lanes(const uint8_t* p, const RowStride& stride) {
    const size_t n = stride.bytes;
    return {{load_four_lanes(p, n), load_four_lanes(p + 4 * n, n), load_four_lanes(p + 8 * n, n),
             load_four_lanes(p + 12 * n, n)}};
}

inline VecI operator&(VecI a, VecI b) { return MINFER_EACH_2(vandq_u8, a, b); }
inline VecI operator^(VecI a, VecI b) { return MINFER_EACH_2(veorq_u8, a, b); }
inline VecI operator|(VecI a, VecI b) { return MINFER_EACH_2(vorrq_u8, a, b); }
// Shifts by operators, for the intrinsics know none by 0. Lanes is what a quarter is taken for.
template <class Lanes, int n>
inline uint8x16_t right(uint8x16_t a) {
    return (uint8x16_t)((Lanes)a >> n);
}
template <class Lanes, int n>
inline uint8x16_t left(uint8x16_t a) {
    return (uint8x16_t)((Lanes)a << n);
}
template <int n>
inline VecI shift_right16(VecI a) {
    return MINFER_EACH_1((right<uint16x8_t, n>), a);
}
template <int n>
inline VecI shift_left16(VecI a) {
    return MINFER_EACH_1((left<uint16x8_t, n>), a);
}
template <int n>
inline VecI shift_right16_signed(VecI a) {
    return MINFER_EACH_1((right<int16x8_t, n>), a);
}
template <int n>
inline VecI shift_left32(VecI a) {
    return MINFER_EACH_1((left<uint32x4_t, n>), a);
}
template <int n>
inline VecI shift_right32(VecI a) {
    return MINFER_EACH_1((right<uint32x4_t, n>), a);
}
template <int n>
inline VecI shift_right32_signed(VecI a) {
    return MINFER_EACH_1((right<int32x4_t, n>), a);
}
inline VecI add8(VecI a, VecI b) { return MINFER_EACH_2(vaddq_u8, a, b); }
template <class Lanes>
inline uint8x16_t sum(uint8x16_t a, uint8x16_t b) {
    return (uint8x16_t)((Lanes)a + (Lanes)b);
}
inline VecI add16(VecI a, VecI b) { return MINFER_EACH_2(sum<uint16x8_t>, a, b); }
inline VecI add32(VecI a, VecI b) { return MINFER_EACH_2(sum<uint32x4_t>, a, b); }
inline uint8x16_t sub32(uint8x16_t a, uint8x16_t b) { return (uint8x16_t)((uint32x4_t)a - (uint32x4_t)b); }
inline VecI sub32(VecI a, VecI b) { return MINFER_EACH_2(sub32, a, b); }
inline VecI shuffle(VecI a, VecI pattern) { return MINFER_EACH_2(vqtbl1q_u8, a, pattern); }
inline VecI bytes_with_bits(VecI bits, VecI mask) { return MINFER_EACH_2(vtstq_u8, bits, mask); }
inline uint8x16_t zip_low32(uint8x16_t a, uint8x16_t b) { return (uint8x16_t)vzip1q_u32((uint32x4_t)a, (uint32x4_t)b); }
inline uint8x16_t zip_high32(uint8x16_t a, uint8x16_t b) {
    return (uint8x16_t)vzip2q_u32((uint32x4_t)a, (uint32x4_t)b);
}
inline uint8x16_t zip_low64(uint8x16_t a, uint8x16_t b) { return (uint8x16_t)vzip1q_u64((uint64x2_t)a, (uint64x2_t)b); }
inline uint8x16_t zip_high64(uint8x16_t a, uint8x16_t b) {
    return (uint8x16_t)vzip2q_u64((uint64x2_t)a, (uint64x2_t)b);
}
inline VecI unpack_low32(VecI a, VecI b) { return MINFER_EACH_2(zip_low32, a, b); }
inline VecI unpack_high32(VecI a, VecI b) { return MINFER_EACH_2(zip_high32, a, b); }
inline VecI unpack_low64(VecI a, VecI b) { return MINFER_EACH_2(zip_low64, a, b); }
inline VecI unpack_high64(VecI a, VecI b) { return MINFER_EACH_2(zip_high64, a, b); }
// Both factors of bytes are signed here, so u may be 127 at most.
inline uint8x16_t multiply_bytes(uint8x16_t a, uint8x16_t b) {
    const auto x = (int8x16_t)a, y = (int8x16_t)b;
    return (uint8x16_t)vpaddq_s16(vmull_s8(vget_low_s8(x), vget_low_s8(y)), vmull_high_s8(x, y));
}
inline VecI multiply_unsigned(VecI u, VecI a) { return MINFER_EACH_2(multiply_bytes, u, a); }
inline VecI multiply_signed(VecI w, VecI a) { return MINFER_EACH_2(multiply_bytes, w, a); }
inline uint8x16_t multiply_words(uint8x16_t a, uint8x16_t b) {
    const auto x = (int16x8_t)a, y = (int16x8_t)b;
    return (uint8x16_t)vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y));
}
inline VecI multiply_words(VecI a, VecI b) { return MINFER_EACH_2(multiply_words, a, b); }
template <class Lanes>
inline uint8x16_t product(uint8x16_t a, uint8x16_t b) {
    return (uint8x16_t)((Lanes)a * (Lanes)b);
}
inline VecI multiply_low_words(VecI a, VecI b) { return MINFER_EACH_2(product<uint16x8_t>, a, b); }
inline VecI multiply_low_words(VecI a, int b) { return multiply_low_words(a, all16(b)); }
inline VecI multiply32(VecI a, VecI b) { return MINFER_EACH_2(product<uint32x4_t>, a, b); }

inline float32x4_t to_float(uint8x16_t a) { return vcvtq_f32_s32((int32x4_t)a); }
inline Vec to_float(VecI a) { return MINFER_EACH_1(to_float, a); }
inline VecI to_integers(Vec a) { return MINFER_EACH_1((uint8x16_t)vcvtnq_s32_f32, a); }
inline Vec as_floats(VecI a) { return MINFER_EACH_1((float32x4_t), a); }
inline VecI as_integers(Vec a) { return MINFER_EACH_1((uint8x16_t), a); }

inline uint16x4_t low_words(uint8x16_t a) { return vmovn_u32((uint32x4_t)a); }
inline float32x4_t from_halves(uint16x4_t x) { return vcvt_f32_f16((float16x4_t)x); }
inline float32x4_t low_halves(uint8x16_t a) { return from_halves(low_words(a)); }
inline float32x4_t high_halves(uint8x16_t a) { return from_halves(vshrn_n_u32((uint32x4_t)a, 16)); }
inline float half_to_float(uint16_t x) { return vgetq_lane_f32(from_halves(vdup_n_u16(x)), 0); }
inline Vec low_halves(VecI a) { return MINFER_EACH_1(low_halves, a); }
inline Vec high_halves(VecI a) { return MINFER_EACH_1(high_halves, a); }
inline uint16x4_t load_four_words(const uint8_t* p) { return (uint16x4_t)vld1_u8(p); }
inline Vec load_halves(const void* p) {
    const auto* from = static_cast<const uint8_t*>(p);
    return {{from_halves(load_four_words(from)), from_halves(load_four_words(from + 8)),
             from_halves(load_four_words(from + 16)), from_halves(load_four_words(from + 24))}};
}
inline VecI load_words(const void* p) {
    const auto* from = static_cast<const uint8_t*>(p);
    return {{(uint8x16_t)vmovl_u16(load_four_words(from)), (uint8x16_t)vmovl_u16(load_four_words(from + 8)),
             (uint8x16_t)vmovl_u16(load_four_words(from + 16)), (uint8x16_t)vmovl_u16(load_four_words(from + 24))}};
}
inline void store_four_words(uint16x4_t x, void* p, size_t i) {
    vst1_u8(static_cast<uint8_t*>(p) + 8 * i, (uint8x8_t)x);
}
inline void store_low_words(VecI a, void* p) {
    for (size_t i = 0; i < 4; ++i) store_four_words(low_words(a.q[i]), p, i);
}
inline void store_halves(Vec x, void* p) {
    for (size_t i = 0; i < 4; ++i) store_four_words((uint16x4_t)vcvt_f16_f32(x.q[i]), p, i);
}
inline void store_low_bytes(VecI a, int8_t* p) {
    const uint8x16_t low = (uint8x16_t)vcombine_u16(low_words(a.q[0]), low_words(a.q[1]));
    const uint8x16_t high = (uint8x16_t)vcombine_u16(low_words(a.q[2]), low_words(a.q[3]));
    vst1q_s8(p, (int8x16_t)vuzp1q_u8(low, high));
}
inline Vec load_signed_bytes(const void* p) {
    const int8x16_t bytes = vld1q_s8(static_cast<const int8_t*>(p));
    const int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_high_s8(bytes);
    return {{vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), vcvtq_f32_s32(vmovl_high_s16(low)),
             vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))), vcvtq_f32_s32(vmovl_high_s16(high))}};
}
inline uint8x16_t max_unsigned32(uint8x16_t a, uint8x16_t b) {
    return (uint8x16_t)vmaxq_u32((uint32x4_t)a, (uint32x4_t)b);
}
inline VecI max_unsigned32(VecI a, VecI b) { return MINFER_EACH_2(max_unsigned32, a, b); }
inline uint8x16_t largest_quarter32(VecI a) {
    return max_unsigned32(max_unsigned32(a.q[0], a.q[1]), max_unsigned32(a.q[2], a.q[3]));
}
inline uint32_t max_lane_unsigned32(VecI a) { return vmaxvq_u32((uint32x4_t)largest_quarter32(a)); }
inline VecI max_of_quarters32(VecI a) { return four_times(largest_quarter32(a)); }

inline void prefetch(const void* p) { __builtin_prefetch(p); }
