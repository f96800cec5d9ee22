// How each integer weight type's blocks lie in vectors. Sources: quant/blocks.h.
//
// Four rows at a time are a "quad": rows j, j + 4, j + 8, j + 12 of the sixteen, one a quarter of a VecI, 16 bytes of
// each. Four quads, j = 0 .. 3, are the sixteen rows, and a 4 x 4 transpose of int32 inside the quarters turns them
// into vectors whose lane is the row.

template <int n>
struct Int {
    static constexpr int value = n;
};

// The dword e of quarter L of the result is the sum of the four dwords of quarter L of x[e]: lane 4 L + e is row
// e + 4 L.
inline VecI sums_by_row(const VecI (&x)[4]) {
    const VecI a = add32(unpack_low32(x[0], x[1]), unpack_high32(x[0], x[1]));
    const VecI b = add32(unpack_low32(x[2], x[3]), unpack_high32(x[2], x[3]));
    return add32(unpack_low64(a, b), unpack_high64(a, b));
}

// out[i]: lane = row, dword i of the row's 16 bytes.
inline void transpose_rows(VecI x0, VecI x1, VecI x2, VecI x3, VecI (&out)[4]) {
    const VecI a = unpack_low32(x0, x1), b = unpack_low32(x2, x3);
    const VecI c = unpack_high32(x0, x1), d = unpack_high32(x2, x3);
    out[0] = unpack_low64(a, b);
    out[1] = unpack_high64(a, b);
    out[2] = unpack_low64(c, d);
    out[3] = unpack_high64(c, d);
}

// The same 16 bytes in all quarters.
inline VecI pattern(const uint8_t (&bytes)[16]) { return repeat16(bytes); }

// Byte g of each quarter as eight words: unsigned, or signed (in the high byte, then shifted down).
template <int g>
inline VecI word_of_byte(VecI x) {
    static constexpr uint8_t kPick[16] = {g, 128, g, 128, g, 128, g, 128, g, 128, g, 128, g, 128, g, 128};
    return shuffle(x, pattern(kPick));
}
template <int g>
inline VecI word_of_signed_byte(VecI x) {
    static constexpr uint8_t kPick[16] = {128, g, 128, g, 128, g, 128, g, 128, g, 128, g, 128, g, 128, g};
    return shift_right16_signed<8>(shuffle(x, pattern(kPick)));
}
// Bytes 0 .. 7, or 8 .. 15, of each quarter as eight words.
alignas(16) constexpr uint8_t kLowBytes[16] = {0, 128, 1, 128, 2, 128, 3, 128, 4, 128, 5, 128, 6, 128, 7, 128};
alignas(16) constexpr uint8_t kHighBytes[16] = {8, 128, 9, 128, 10, 128, 11, 128, 12, 128, 13, 128, 14, 128, 15, 128};
alignas(16) constexpr uint8_t kLowSigned[16] = {128, 0, 128, 1, 128, 2, 128, 3, 128, 4, 128, 5, 128, 6, 128, 7};
alignas(16) constexpr uint8_t kHighSigned[16] = {128, 8, 128, 9, 128, 10, 128, 11, 128, 12, 128, 13, 128, 14, 128, 15};
inline VecI low_bytes(VecI x) { return shuffle(x, pattern(kLowBytes)); }
inline VecI high_bytes(VecI x) { return shuffle(x, pattern(kHighBytes)); }
inline VecI low_signed(VecI x) { return shift_right16_signed<8>(shuffle(x, pattern(kLowSigned))); }
inline VecI high_signed(VecI x) { return shift_right16_signed<8>(shuffle(x, pattern(kHighSigned))); }

inline VecI low_nibbles(VecI x) { return x & all8(15); }
inline VecI high_nibbles(VecI x) { return shift_right16<4>(x) & all8(15); }

alignas(16) constexpr uint8_t kIq4Table[16] = {uint8_t(-127),
                                               uint8_t(-104),
                                               uint8_t(-83),
                                               uint8_t(-65),
                                               uint8_t(-49),
                                               uint8_t(-35),
                                               uint8_t(-22),
                                               uint8_t(-10),
                                               1,
                                               13,
                                               25,
                                               38,
                                               53,
                                               69,
                                               89,
                                               113};
inline VecI iq4_values(VecI nibbles) { return shuffle(pattern(kIq4Table), nibbles); }

// ---- The types. For each:
//   kType, kBytes (of a block), kLargest: of a weight's magnitude as multiplied; kSigned: whether those are signed
//   kOffset: what is to be taken off each unsigned weight
//   unpack(p, stride, use): the quad whose row 0 block is at p; calls use(Int<g>, w...) for every group g with its 32
//     weights as two VecI, or its 16 as one
//   d_and_m(p, rows, &d, &m): the float scales of all sixteen rows, lane = row
// and where the block is of 256:
//   scales(p, stride): a quad's integer scales, 16 bytes a row; group_scale<g> gives group g's as words
//   corrections(s, &low, &high): words, a group each, low those of groups 0 .. 7

struct Q4_0 {
    static constexpr gguf::TensorType kType = gguf::TensorType::Q4_0;
    static constexpr int kBytes = 18, kLargest = 15, kOffset = 8;
    static constexpr bool kSigned = false;
    template <class Use>
    static inline void unpack(const uint8_t* p, size_t stride, Use use) {
        const VecI x = load_rows(p + 2, stride);
        use(Int<0>(), low_nibbles(x), high_nibbles(x));
    }
    static inline void d_and_m(const uint8_t* p, const RowStride& rows, Vec* d, Vec*) {
        *d = low_halves(load_lanes(p, rows));
    }
};

struct Q4_1 {
    static constexpr gguf::TensorType kType = gguf::TensorType::Q4_1;
    static constexpr int kBytes = 20, kLargest = 15, kOffset = 0;
    static constexpr bool kSigned = false;
    template <class Use>
    static inline void unpack(const uint8_t* p, size_t stride, Use use) {
        const VecI x = load_rows(p + 4, stride);
        use(Int<0>(), low_nibbles(x), high_nibbles(x));
    }
    static inline void d_and_m(const uint8_t* p, const RowStride& rows, Vec* d, Vec* m) {
        const VecI x = load_lanes(p, rows);
        *d = low_halves(x);
        *m = high_halves(x);
    }
};

// The fifth bits of Q5_0 and Q5_1: bit i of a 32-bit word for value i. `p` is where the 8 bytes begin whose last, or
// first, four are the word; `byte` is its place among them.
template <int byte>
inline void fifth_bits(const uint8_t* p, size_t stride, VecI* low, VecI* high) {
    static constexpr uint8_t kSpreadLow[16] = {byte,     byte,     byte,     byte,     byte,     byte,
                                               byte,     byte,     byte + 1, byte + 1, byte + 1, byte + 1,
                                               byte + 1, byte + 1, byte + 1, byte + 1};
    static constexpr uint8_t kSpreadHigh[16] = {byte + 2, byte + 2, byte + 2, byte + 2, byte + 2, byte + 2,
                                                byte + 2, byte + 2, byte + 3, byte + 3, byte + 3, byte + 3,
                                                byte + 3, byte + 3, byte + 3, byte + 3};
    static constexpr uint8_t kBits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const VecI word = load_rows8(p, stride), bits = pattern(kBits), sixteen = all8(16);
    *low = bytes_with_bits(shuffle(word, pattern(kSpreadLow)), bits) & sixteen;
    *high = bytes_with_bits(shuffle(word, pattern(kSpreadHigh)), bits) & sixteen;
}

struct Q5_0 {
    static constexpr gguf::TensorType kType = gguf::TensorType::Q5_0;
    static constexpr int kBytes = 22, kLargest = 31, kOffset = 16;
    static constexpr bool kSigned = false;
    template <class Use>
    static inline void unpack(const uint8_t* p, size_t stride, Use use) {
        const VecI x = load_rows(p + 6, stride);
        VecI low, high;
        fifth_bits<2>(p, stride, &low, &high);
        use(Int<0>(), low_nibbles(x) | low, high_nibbles(x) | high);
    }
    static inline void d_and_m(const uint8_t* p, const RowStride& rows, Vec* d, Vec*) {
        *d = low_halves(load_lanes(p, rows));
    }
};

struct Q5_1 {
    static constexpr gguf::TensorType kType = gguf::TensorType::Q5_1;
    static constexpr int kBytes = 24, kLargest = 31, kOffset = 0;
    static constexpr bool kSigned = false;
    template <class Use>
    static inline void unpack(const uint8_t* p, size_t stride, Use use) {
        const VecI x = load_rows(p + 8, stride);
        VecI low, high;
        fifth_bits<4>(p, stride, &low, &high);
        use(Int<0>(), low_nibbles(x) | low, high_nibbles(x) | high);
    }
    static inline void d_and_m(const uint8_t* p, const RowStride& rows, Vec* d, Vec* m) {
        Q4_1::d_and_m(p, rows, d, m);
    }
};

struct Q8_0 {
    static constexpr gguf::TensorType kType = gguf::TensorType::Q8_0;
    static constexpr int kBytes = 34, kLargest = 128, kOffset = 0;
    static constexpr bool kSigned = true;
    template <class Use>
    static inline void unpack(const uint8_t* p, size_t stride, Use use) {
        use(Int<0>(), load_rows(p + 2, stride), load_rows(p + 18, stride));
    }
    static inline void d_and_m(const uint8_t* p, const RowStride& rows, Vec* d, Vec*) {
        *d = low_halves(load_lanes(p, rows));
    }
};

struct IQ4_NL {
    static constexpr gguf::TensorType kType = gguf::TensorType::IQ4_NL;
    static constexpr int kBytes = 18, kLargest = 127, kOffset = 0;
    static constexpr bool kSigned = true;
    template <class Use>
    static inline void unpack(const uint8_t* p, size_t stride, Use use) {
        const VecI x = load_rows(p + 2, stride);
        use(Int<0>(), iq4_values(low_nibbles(x)), iq4_values(high_nibbles(x)));
    }
    static inline void d_and_m(const uint8_t* p, const RowStride& rows, Vec* d, Vec*) {
        *d = low_halves(load_lanes(p, rows));
    }
};

struct Q2_K {
    static constexpr gguf::TensorType kType = gguf::TensorType::Q2_K;
    static constexpr int kBytes = 84, kLargest = 3, kOffset = 0;
    static constexpr bool kSigned = false;
    template <class Use>
    static inline void unpack(const uint8_t* p, size_t stride, Use use) {
        half<0>(p + 16, stride, use);
        half<1>(p + 48, stride, use);
    }
    // Values 128 h .. 128 h + 127: plane p, bits 2p and 2p + 1 of 32 bytes, is groups 8 h + 2 p and the next.
    template <int h, class Use>
    static inline void half(const uint8_t* p, size_t stride, Use use) {
        const VecI three = all8(3), a = load_rows(p, stride), b = load_rows(p + 16, stride);
        use(Int<8 * h>(), a & three);
        use(Int<8 * h + 1>(), b & three);
        use(Int<8 * h + 2>(), shift_right16<2>(a) & three);
        use(Int<8 * h + 3>(), shift_right16<2>(b) & three);
        use(Int<8 * h + 4>(), shift_right16<4>(a) & three);
        use(Int<8 * h + 5>(), shift_right16<4>(b) & three);
        use(Int<8 * h + 6>(), shift_right16<6>(a) & three);
        use(Int<8 * h + 7>(), shift_right16<6>(b) & three);
    }
    static inline VecI scales(const uint8_t* p, size_t stride) { return load_rows(p, stride); }
    template <int g>
    static inline VecI group_scale(VecI s) {
        return word_of_byte<g>(low_nibbles(s));
    }
    static inline void corrections(VecI s, VecI* low, VecI* high) {
        *low = low_bytes(high_nibbles(s));
        *high = high_bytes(high_nibbles(s));
    }
    static inline void d_and_m(const uint8_t* p, const RowStride& rows, Vec* d, Vec* m) {
        Q4_1::d_and_m(p + 80, rows, d, m);
    }
};

struct Q3_K {
    static constexpr gguf::TensorType kType = gguf::TensorType::Q3_K;
    static constexpr int kBytes = 110, kLargest = 7, kOffset = 4;
    static constexpr bool kSigned = false;
    template <class Use>
    static inline void unpack(const uint8_t* p, size_t stride, Use use) {
        const VecI high_a = load_rows(p, stride), high_b = load_rows(p + 16, stride);
        half<0>(p + 32, stride, high_a, high_b, use);
        half<1>(p + 64, stride, high_a, high_b, use);
    }
    template <int h, class Use>
    static inline void half(const uint8_t* p, size_t stride, VecI high_a, VecI high_b, Use use) {
        const VecI a = load_rows(p, stride), b = load_rows(p + 16, stride);
        use(Int<8 * h>(), three_bits<0, 4 * h>(a, high_a));
        use(Int<8 * h + 1>(), three_bits<0, 4 * h>(b, high_b));
        use(Int<8 * h + 2>(), three_bits<2, 4 * h + 1>(a, high_a));
        use(Int<8 * h + 3>(), three_bits<2, 4 * h + 1>(b, high_b));
        use(Int<8 * h + 4>(), three_bits<4, 4 * h + 2>(a, high_a));
        use(Int<8 * h + 5>(), three_bits<4, 4 * h + 2>(b, high_b));
        use(Int<8 * h + 6>(), three_bits<6, 4 * h + 3>(a, high_a));
        use(Int<8 * h + 7>(), three_bits<6, 4 * h + 3>(b, high_b));
    }
    // Bits `shift` and above of x, and as third bit the bit `bit` of high.
    template <int shift, int bit>
    static inline VecI three_bits(VecI x, VecI high) {
        const VecI third =
            bit <= 2 ? shift_left16<bit <= 2 ? 2 - bit : 0>(high) : shift_right16<bit <= 2 ? 0 : bit - 2>(high);
        return (shift_right16<shift>(x) & all8(3)) | (third & all8(4));
    }
    static inline VecI scales(const uint8_t* p, size_t stride) {
        // The 12 bytes of scales and the 2 before and after them: bytes 2 .. 13.
        static constexpr uint8_t kLow[16] = {2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5, 6, 7, 8, 9};
        static constexpr uint8_t kHigh[16] = {10, 11, 12, 13, 10, 11, 12, 13, 10, 11, 12, 13, 10, 11, 12, 13};
        static constexpr uint8_t kFirstHalf[16] = {15, 15, 15, 15, 15, 15, 15, 15, 0, 0, 0, 0, 0, 0, 0, 0};
        static constexpr uint8_t kSecondHalf[16] = {0, 0, 0, 0, 0, 0, 0, 0, 15, 15, 15, 15, 15, 15, 15, 15};
        static constexpr uint8_t kQuarter0[16] = {48, 48, 48, 48};
        static constexpr uint8_t kQuarter1[16] = {0, 0, 0, 0, 48, 48, 48, 48};
        static constexpr uint8_t kQuarter2[16] = {0, 0, 0, 0, 0, 0, 0, 0, 48, 48, 48, 48};
        static constexpr uint8_t kQuarter3[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 48, 48, 48, 48};
        const VecI x = load_rows(p + 94, stride);
        const VecI low = shuffle(x, pattern(kLow)), high = shuffle(x, pattern(kHigh));
        const VecI four = (low & pattern(kFirstHalf)) | (shift_right16<4>(low) & pattern(kSecondHalf));
        const VecI two = ((shift_left16<4>(high) & pattern(kQuarter0)) | (shift_left16<2>(high) & pattern(kQuarter1))) |
                         ((high & pattern(kQuarter2)) | (shift_right16<2>(high) & pattern(kQuarter3)));
        return add8(four | two, all8(-32));
    }
    template <int g>
    static inline VecI group_scale(VecI s) {
        return word_of_signed_byte<g>(s);
    }
    // -4 * scale
    static inline void corrections(VecI s, VecI* low, VecI* high) {
        *low = multiply_low_words(low_signed(s), -4);
        *high = multiply_low_words(high_signed(s), -4);
    }
    static inline void d_and_m(const uint8_t* p, const RowStride& rows, Vec* d, Vec*) {
        *d = high_halves(load_lanes(p + 106, rows));
    }
};

// The header of Q4_K and Q5_K, 16 bytes: d, dmin, then 12 bytes of 6-bit numbers (quant/blocks.h, unpack_scale_q4_K).
// Gives the 8 scales in bytes 0 .. 7 and the 8 minimums in bytes 8 .. 15.
inline VecI scales_q4_K(const uint8_t* p, size_t stride) {
    static constexpr uint8_t kFirst[16] = {4, 5, 6, 7, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15};
    static constexpr uint8_t kTop[16] = {128, 128, 128, 128, 4, 5, 6, 7, 128, 128, 128, 128, 8, 9, 10, 11};
    static constexpr uint8_t kKeep[16] = {63, 63, 63, 63, 15, 15, 15, 15, 63, 63, 63, 63, 0, 0, 0, 0};
    static constexpr uint8_t kKeepHigh[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 15, 15, 15, 15};
    const VecI x = load_rows(p, stride);
    const VecI first_bits = shuffle(x, pattern(kFirst)), top = shift_right16<2>(shuffle(x, pattern(kTop))) & all8(48);
    return (first_bits & pattern(kKeep)) | (shift_right16<4>(first_bits) & pattern(kKeepHigh)) | top;
}

struct Q4_K {
    static constexpr gguf::TensorType kType = gguf::TensorType::Q4_K;
    static constexpr int kBytes = 144, kLargest = 15, kOffset = 0;
    static constexpr bool kSigned = false;
    template <class Use>
    static inline void unpack(const uint8_t* p, size_t stride, Use use) {
        pair<0>(p + 16, stride, use);
        pair<2>(p + 48, stride, use);
        pair<4>(p + 80, stride, use);
        pair<6>(p + 112, stride, use);
    }
    template <int g, class Use>
    static inline void pair(const uint8_t* p, size_t stride, Use use) {
        const VecI a = load_rows(p, stride), b = load_rows(p + 16, stride);
        use(Int<g>(), low_nibbles(a), low_nibbles(b));
        use(Int<g + 1>(), high_nibbles(a), high_nibbles(b));
    }
    static inline VecI scales(const uint8_t* p, size_t stride) { return scales_q4_K(p, stride); }
    template <int g>
    static inline VecI group_scale(VecI s) {
        return word_of_byte<g>(s);
    }
    static inline void corrections(VecI s, VecI* low, VecI*) { *low = high_bytes(s); }
    static inline void d_and_m(const uint8_t* p, const RowStride& rows, Vec* d, Vec* m) {
        Q4_1::d_and_m(p, rows, d, m);
    }
};

struct Q5_K {
    static constexpr gguf::TensorType kType = gguf::TensorType::Q5_K;
    static constexpr int kBytes = 176, kLargest = 31, kOffset = 0;
    static constexpr bool kSigned = false;
    template <class Use>
    static inline void unpack(const uint8_t* p, size_t stride, Use use) {
        const VecI high_a = load_rows(p + 16, stride), high_b = load_rows(p + 32, stride);
        pair<0>(p + 48, stride, high_a, high_b, use);
        pair<2>(p + 80, stride, high_a, high_b, use);
        pair<4>(p + 112, stride, high_a, high_b, use);
        pair<6>(p + 144, stride, high_a, high_b, use);
    }
    template <int g, class Use>
    static inline void pair(const uint8_t* p, size_t stride, VecI high_a, VecI high_b, Use use) {
        const VecI a = load_rows(p, stride), b = load_rows(p + 16, stride);
        use(Int<g>(), low_nibbles(a) | fifth<g>(high_a), low_nibbles(b) | fifth<g>(high_b));
        use(Int<g + 1>(), high_nibbles(a) | fifth<g + 1>(high_a), high_nibbles(b) | fifth<g + 1>(high_b));
    }
    // Bit `bit` of each byte, as 16 or 0.
    template <int bit>
    static inline VecI fifth(VecI high) {
        return (bit <= 4 ? shift_left16<bit <= 4 ? 4 - bit : 0>(high) : shift_right16<bit <= 4 ? 0 : bit - 4>(high)) &
               all8(16);
    }
    static inline VecI scales(const uint8_t* p, size_t stride) { return scales_q4_K(p, stride); }
    template <int g>
    static inline VecI group_scale(VecI s) {
        return word_of_byte<g>(s);
    }
    static inline void corrections(VecI s, VecI* low, VecI*) { *low = high_bytes(s); }
    static inline void d_and_m(const uint8_t* p, const RowStride& rows, Vec* d, Vec* m) {
        Q4_1::d_and_m(p, rows, d, m);
    }
};

struct Q6_K {
    static constexpr gguf::TensorType kType = gguf::TensorType::Q6_K;
    static constexpr int kBytes = 210, kLargest = 63, kOffset = 32;
    static constexpr bool kSigned = false;
    template <class Use>
    static inline void unpack(const uint8_t* p, size_t stride, Use use) {
        half<0>(p, p + 128, stride, use);
        half<8>(p + 64, p + 160, stride, use);
    }
    template <int g, class Use>
    static inline void half(const uint8_t* low, const uint8_t* high, size_t stride, Use use) {
        const VecI fifteen = all8(15), top = all8(48);
        const VecI a = load_rows(low, stride), b = load_rows(low + 16, stride);
        const VecI c = load_rows(low + 32, stride), d = load_rows(low + 48, stride);
        const VecI h = load_rows(high, stride), i = load_rows(high + 16, stride);
        use(Int<g>(), (a & fifteen) | (shift_left16<4>(h) & top));
        use(Int<g + 1>(), (b & fifteen) | (shift_left16<4>(i) & top));
        use(Int<g + 2>(), (c & fifteen) | (shift_left16<2>(h) & top));
        use(Int<g + 3>(), (d & fifteen) | (shift_left16<2>(i) & top));
        use(Int<g + 4>(), (shift_right16<4>(a) & fifteen) | (h & top));
        use(Int<g + 5>(), (shift_right16<4>(b) & fifteen) | (i & top));
        use(Int<g + 6>(), (shift_right16<4>(c) & fifteen) | (shift_right16<2>(h) & top));
        use(Int<g + 7>(), (shift_right16<4>(d) & fifteen) | (shift_right16<2>(i) & top));
    }
    static inline VecI scales(const uint8_t* p, size_t stride) { return load_rows(p + 192, stride); }
    template <int g>
    static inline VecI group_scale(VecI s) {
        return word_of_signed_byte<g>(s);
    }
    // -32 * scale
    static inline void corrections(VecI s, VecI* low, VecI* high) {
        *low = multiply_low_words(low_signed(s), -32);
        *high = multiply_low_words(high_signed(s), -32);
    }
    static inline void d_and_m(const uint8_t* p, const RowStride& rows, Vec* d, Vec*) {
        *d = high_halves(load_lanes(p + 206, rows));
    }
};

struct IQ4_XS {
    static constexpr gguf::TensorType kType = gguf::TensorType::IQ4_XS;
    static constexpr int kBytes = 136, kLargest = 127, kOffset = 0;
    static constexpr bool kSigned = true;
    template <class Use>
    static inline void unpack(const uint8_t* p, size_t stride, Use use) {
        group<0>(p, stride, use);
        group<1>(p, stride, use);
        group<2>(p, stride, use);
        group<3>(p, stride, use);
        group<4>(p, stride, use);
        group<5>(p, stride, use);
        group<6>(p, stride, use);
        group<7>(p, stride, use);
    }
    template <int g, class Use>
    static inline void group(const uint8_t* p, size_t stride, Use use) {
        const VecI x = load_rows(p + 8 + 16 * g, stride);
        use(Int<g>(), iq4_values(low_nibbles(x)), iq4_values(high_nibbles(x)));
    }
    static inline VecI scales(const uint8_t* p, size_t stride) {
        // The block's first 8 bytes: d, scales_h, scales_l. Group g's upper bits are bits 2g, 2g + 1 of scales_h.
        static constexpr uint8_t kLow[16] = {4, 4, 5, 5, 6, 6, 7, 7};
        static constexpr uint8_t kHigh[16] = {2, 2, 2, 2, 3, 3, 3, 3};
        static constexpr uint8_t kEven[16] = {15, 0, 15, 0, 15, 0, 15, 0}, kOdd[16] = {0, 15, 0, 15, 0, 15, 0, 15};
        static constexpr uint8_t kPlace0[16] = {48, 0, 0, 0, 48}, kPlace1[16] = {0, 48, 0, 0, 0, 48};
        static constexpr uint8_t kPlace2[16] = {0, 0, 48, 0, 0, 0, 48}, kPlace3[16] = {0, 0, 0, 48, 0, 0, 0, 48};
        const VecI x = load_rows8(p, stride);
        const VecI low = shuffle(x, pattern(kLow)), high = shuffle(x, pattern(kHigh));
        const VecI four = (low & pattern(kEven)) | (shift_right16<4>(low) & pattern(kOdd));
        const VecI two = ((shift_left16<4>(high) & pattern(kPlace0)) | (shift_left16<2>(high) & pattern(kPlace1))) |
                         ((high & pattern(kPlace2)) | (shift_right16<2>(high) & pattern(kPlace3)));
        return add8(four | two, all8(-32));
    }
    template <int g>
    static inline VecI group_scale(VecI s) {
        return word_of_signed_byte<g>(s);
    }
    static inline void d_and_m(const uint8_t* p, const RowStride& rows, Vec* d, Vec*) {
        *d = low_halves(load_lanes(p, rows));
    }
};
