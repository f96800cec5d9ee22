// What AVX-512 VNNI adds to vec_avx512.h: four products of bytes and their sum in one instruction, with no word between
// that could saturate. Included by kernels_avx512vnni.cpp only, in its unnamed namespace.
constexpr bool kByteDots = true;
constexpr int kRaise = 128;  // what makes a signed byte one that dot4 takes as its first

// What panel_vnni.inl takes at once besides 6 tokens: 12 integer sums, 12 float sums, two vectors of weights and a
// broadcast fit 32 registers.
constexpr int kPanelsInteger = 2;
constexpr bool kSumsWait = false;

// int32: sum + the four products of each lane. The bytes of u are unsigned, those of a signed.
inline VecI dot4(VecI sum, VecI u, VecI a) { return {_mm512_dpbusd_epi32(sum.v, u.v, a.v)}; }
// int32: sum + the two products of each lane's words.
inline VecI dot2(VecI sum, VecI a, VecI b) { return {_mm512_dpwssd_epi32(sum.v, a.v, b.v)}; }
