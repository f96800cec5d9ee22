// How each type's weights and scales come out of a compact panel (compact.h): a lane is a row, so there is nothing to
// transpose. For each type of weight_blocks.inl:
//   quad<g, i>(block): bytes, four neighbouring weights a lane: values 4 i .. 4 i + 3 of group g, as panel.h holds them
// and where the block is of 256:
//   scale_bytes(block, s): bytes, the groups' integer scales; kPlace<Type, g> says where in s that of group g is
//   minimum_bytes(block, m): the same of their minimums

// Word i of the block, of all rows.
inline VecI word_of(const std::byte* block, size_t i) { return load_bytes(block + 64 * i); }

// Bit `from` of each byte as bit `to`, the others zero.
template <int from, int to>
inline VecI bit_to(VecI x) {
    constexpr int kLeft = to > from ? to - from : 0, kRight = from > to ? from - to : 0;
    return (kLeft ? shift_left16<kLeft>(x) : shift_right16<kRight>(x)) & all8(1 << to);
}

// Words 0 .. 3 hold values 0 .. 15 in their low nibbles, the others in the high ones.
template <int i>
inline VecI nibbles_of_32(const std::byte* block) {
    return i < 4 ? low_nibbles(word_of(block, i)) : high_nibbles(word_of(block, i - 4));
}
// ... and word 4 the fifth bits, permuted.
template <int i>
inline VecI five_bits_of_32(const std::byte* block) {
    return nibbles_of_32<i>(block) | bit_to<4 * (i % 2) + i / 2, 4>(word_of(block, 4));
}
// 32 words hold a pair of groups of 32 in eight.
template <int g, int i>
inline VecI nibbles_of_pairs(const std::byte* block) {
    const VecI x = word_of(block, g / 2 * 8 + i);
    return g % 2 == 0 ? low_nibbles(x) : high_nibbles(x);
}
// 16 words hold 16 groups of 16: four words hold groups g, g + 2, g + 4 and g + 6 in pairs of bits.
template <int g, int i>
inline VecI word_of_planes(const std::byte* block) {
    return word_of(block, g / 8 * 8 + g % 2 * 4 + i);
}

template <int g, int i>
inline VecI quad(Q4_0, const std::byte* block) {
    return nibbles_of_32<i>(block);
}
template <int g, int i>
inline VecI quad(Q4_1, const std::byte* block) {
    return nibbles_of_32<i>(block);
}
template <int g, int i>
inline VecI quad(Q5_0, const std::byte* block) {
    return five_bits_of_32<i>(block);
}
template <int g, int i>
inline VecI quad(Q5_1, const std::byte* block) {
    return five_bits_of_32<i>(block);
}
template <int g, int i>
inline VecI quad(Q8_0, const std::byte* block) {
    return word_of(block, i);
}
template <int g, int i>
inline VecI quad(IQ4_NL, const std::byte* block) {
    return iq4_values(nibbles_of_32<i>(block));
}
template <int g, int i>
inline VecI quad(Q2_K, const std::byte* block) {
    return shift_right16<g % 8 / 2 * 2>(word_of_planes<g, i>(block)) & all8(3);
}
template <int g, int i>
inline VecI quad(Q3_K, const std::byte* block) {
    return Q3_K::three_bits<g % 8 / 2 * 2, g / 2>(word_of_planes<g, i>(block), word_of(block, 16 + g % 2 * 4 + i));
}
template <int g, int i>
inline VecI quad(Q4_K, const std::byte* block) {
    return nibbles_of_pairs<g, i>(block);
}
template <int g, int i>
inline VecI quad(Q5_K, const std::byte* block) {
    return nibbles_of_pairs<g, i>(block) | bit_to<g, 4>(word_of(block, 32 + i));
}
template <int g, int i>
inline VecI quad(Q6_K, const std::byte* block) {
    constexpr int kHalf = g / 8, kPlane = g % 8 / 2, kPart = g % 2;
    const VecI low = word_of(block, 16 * kHalf + 8 * (kPlane % 2) + 4 * kPart + i);
    const VecI high = word_of(block, 32 + 8 * kHalf + 4 * kPart + i);
    const VecI top = kPlane < 2 ? shift_left16 < kPlane<2 ? 4 - 2 * kPlane : 0>(high)
                                : shift_right16 < kPlane<2 ? 0 : 2 * kPlane - 4>(high);
    return (kPlane < 2 ? low_nibbles(low) : high_nibbles(low)) | (top & all8(48));
}
template <int g, int i>
inline VecI quad(IQ4_XS, const std::byte* block) {
    const VecI x = word_of(block, 4 * g + i % 4);
    return iq4_values(i < 4 ? low_nibbles(x) : high_nibbles(x));
}

struct Place {
    int vector, byte;
};
template <class Type, int g>
constexpr Place kPlace = {g / 4, g % 4};
template <int g>
constexpr Place kPlace<IQ4_XS, g> = {g % 2, g / 2};

inline void scale_bytes(Q2_K, const std::byte* block, VecI (&s)[4]) {
    for (size_t i = 0; i < 4; ++i) s[i] = low_nibbles(word_of(block, 16 + i));
}
inline void minimum_bytes(Q2_K, const std::byte* block, VecI (&m)[4]) {
    for (size_t i = 0; i < 4; ++i) m[i] = high_nibbles(word_of(block, 16 + i));
}
// quant/blocks.h, unpack_scale_q3_K. Signed.
inline void scale_bytes(Q3_K, const std::byte* block, VecI (&s)[4]) {
    const VecI a = word_of(block, 24), b = word_of(block, 25), top = word_of(block, 26), two = all8(48);
    s[0] = add8(low_nibbles(a) | (shift_left16<4>(top) & two), all8(-32));
    s[1] = add8(low_nibbles(b) | (shift_left16<2>(top) & two), all8(-32));
    s[2] = add8(high_nibbles(a) | (top & two), all8(-32));
    s[3] = add8(high_nibbles(b) | (shift_right16<2>(top) & two), all8(-32));
}
// quant/blocks.h, unpack_scale_q4_K, of the three words from `at` on.
template <size_t at>
inline void scale_bytes_q4_K(const std::byte* block, VecI (&s)[2]) {
    s[0] = word_of(block, at) & all8(63);
    s[1] = low_nibbles(word_of(block, at + 2)) | (shift_right16<2>(word_of(block, at)) & all8(48));
}
template <size_t at>
inline void minimum_bytes_q4_K(const std::byte* block, VecI (&m)[2]) {
    m[0] = word_of(block, at + 1) & all8(63);
    m[1] = high_nibbles(word_of(block, at + 2)) | (shift_right16<2>(word_of(block, at + 1)) & all8(48));
}
inline void scale_bytes(Q4_K, const std::byte* block, VecI (&s)[2]) { scale_bytes_q4_K<32>(block, s); }
inline void minimum_bytes(Q4_K, const std::byte* block, VecI (&m)[2]) { minimum_bytes_q4_K<32>(block, m); }
inline void scale_bytes(Q5_K, const std::byte* block, VecI (&s)[2]) { scale_bytes_q4_K<40>(block, s); }
inline void minimum_bytes(Q5_K, const std::byte* block, VecI (&m)[2]) { minimum_bytes_q4_K<40>(block, m); }
inline void scale_bytes(Q6_K, const std::byte* block, VecI (&s)[4]) {
    for (size_t i = 0; i < 4; ++i) s[i] = word_of(block, 48 + i);
}
// quant/blocks.h, unpack_scale_iq4_xs. Groups 0, 2, 4, 6 and 1, 3, 5, 7. Signed.
inline void scale_bytes(IQ4_XS, const std::byte* block, VecI (&s)[2]) {
    // Byte j of a lane: byte j / 2 of its scales_h. There the upper bits of group 2 j are bits 0 and 1, or 4 and 5
    // where j is odd; those of group 2 j + 1 come next.
    static constexpr uint8_t kSpread[16] = {0, 0, 1, 1, 4, 4, 5, 5, 8, 8, 9, 9, 12, 12, 13, 13};
    static constexpr uint8_t kEven[16] = {48, 0, 48, 0, 48, 0, 48, 0, 48, 0, 48, 0, 48, 0, 48, 0};
    static constexpr uint8_t kOdd[16] = {0, 48, 0, 48, 0, 48, 0, 48, 0, 48, 0, 48, 0, 48, 0, 48};
    const VecI low = word_of(block, 32), even = pattern(kEven), odd = pattern(kOdd);
    constexpr size_t kScalesHigh = compact_layout(gguf::TensorType::IQ4_XS).halves_at + 32;
    const VecI high = shuffle(load_words(block + kScalesHigh), pattern(kSpread));
    s[0] = add8(low_nibbles(low) | (shift_left16<4>(high) & even) | (high & odd), all8(-32));
    s[1] = add8(high_nibbles(low) | (shift_left16<2>(high) & even) | (shift_right16<2>(high) & odd), all8(-32));
}
template <class Type>
constexpr bool kSignedScales = Type::kType == gguf::TensorType::Q3_K || Type::kType == gguf::TensorType::Q6_K ||
                               Type::kType == gguf::TensorType::IQ4_XS;

// Byte b of each lane as an int32, as a word twice, and bytes b and b + 1 as two words.
template <int b, bool is_signed>
inline VecI byte_as_lane(VecI x) {
    static constexpr uint8_t kPick[16] = {b,     128, 128, 128, b + 4,  128, 128, 128,
                                          b + 8, 128, 128, 128, b + 12, 128, 128, 128};
    static constexpr uint8_t kTop[16] = {128, 128, 128, b,     128, 128, 128, b + 4,
                                         128, 128, 128, b + 8, 128, 128, 128, b + 12};
    return is_signed ? shift_right32_signed<24>(shuffle(x, pattern(kTop))) : shuffle(x, pattern(kPick));
}
template <int b, int c, bool is_signed>
inline VecI bytes_as_words(VecI x) {
    static constexpr uint8_t kPick[16] = {b,     128, c,     128, b + 4,  128, c + 4,  128,
                                          b + 8, 128, c + 8, 128, b + 12, 128, c + 12, 128};
    static constexpr uint8_t kTop[16] = {128, b,     128, c,     128, b + 4,  128, c + 4,
                                         128, b + 8, 128, c + 8, 128, b + 12, 128, c + 12};
    return is_signed ? shift_right16_signed<8>(shuffle(x, pattern(kTop))) : shuffle(x, pattern(kPick));
}
// Words, of groups 2 pair and 2 pair + 1: of their bytes in s. Signed where `is_signed`.
template <class Type, int pair, bool is_signed, size_t n>
inline VecI pair_of_groups(const VecI (&s)[n]) {
    constexpr Place kFirst = kPlace<Type, 2 * pair>, kSecond = kPlace<Type, 2 * pair + 1>;
    if constexpr (kFirst.vector == kSecond.vector) {
        return bytes_as_words<kFirst.byte, kSecond.byte, is_signed>(s[kFirst.vector]);
    } else {
        const VecI low = bytes_as_words<kFirst.byte, kFirst.byte, is_signed>(s[kFirst.vector]);
        const VecI high = bytes_as_words<kSecond.byte, kSecond.byte, is_signed>(s[kSecond.vector]);
        return (low & all32(0xffff)) | (high & all32(int(0xffff0000)));
    }
}
