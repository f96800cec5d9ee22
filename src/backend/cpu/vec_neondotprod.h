// What dot products of bytes add to vec_neon.h. Included by kernels_neondotprod.cpp and kernels_neoni8mm.cpp, in their
// unnamed namespace. The functions are those of vec_avx512vnni.h, but both factors are signed.
constexpr bool kByteDots = true;
constexpr int kRaise = 0;

inline uint8x16_t dot4(uint8x16_t sum, uint8x16_t w, uint8x16_t a) {
    return (uint8x16_t)vdotq_s32((int32x4_t)sum, (int8x16_t)w, (int8x16_t)a);
}
inline VecI dot4(VecI sum, VecI w, VecI a) { return MINFER_EACH_3(dot4, sum, w, a); }
inline VecI dot2(VecI sum, VecI a, VecI b) { return add32(sum, multiply_words(a, b)); }
