// The functions of vec_avx512vnni.h for sets without such instructions. Included after their Vec, in its unnamed
// namespace.
constexpr bool kByteDots = false;
constexpr int kRaise = 0;

// Here for u <= 128 only, as multiply_unsigned has it.
inline VecI dot4(VecI sum, VecI u, VecI a) { return add32(sum, multiply_words(multiply_unsigned(u, a), all16(1))); }
inline VecI dot2(VecI sum, VecI a, VecI b) { return add32(sum, multiply_words(a, b)); }
