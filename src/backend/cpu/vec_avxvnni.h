// What AVX-VNNI, the 256-bit form of AVX-512's VNNI, adds to vec_avx2.h. Included by kernels_avxvnni.cpp only, in its
// unnamed namespace. The functions are those of vec_avx512vnni.h.
constexpr bool kByteDots = true;
constexpr int kRaise = 128;

// 6 tokens of one panel: 6 integer sums of two registers, two of weights and a broadcast fit 16 registers; the float
// sums do not.
constexpr int kPanelsInteger = 1;
constexpr bool kSumsWait = true;

inline VecI dot4(VecI sum, VecI u, VecI a) {
    return {_mm256_dpbusd_avx_epi32(sum.low, u.low, a.low), _mm256_dpbusd_avx_epi32(sum.high, u.high, a.high)};
}
inline VecI dot2(VecI sum, VecI a, VecI b) {
    return {_mm256_dpwssd_avx_epi32(sum.low, a.low, b.low), _mm256_dpwssd_avx_epi32(sum.high, a.high, b.high)};
}
