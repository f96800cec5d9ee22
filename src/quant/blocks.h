// The block layouts of GGUF's quantized types, bit for bit as they lie in a file (little endian), and the small
// integers packed inside them. A row is a sequence of blocks; row length is a multiple of the block's values. Scales
// named d, m and dmin are IEEE binary16 bits. Sources: GGUF's published layouts; tests/quant/decode_test.cpp holds each
// to a peer.
//
// In the comments q_i is the small integer of value i of the block, counted from the block's start.
#pragma once

#include <cstdint>

namespace minfer::quant {

inline constexpr int kBlockSize = 32;        // Q4_0 .. Q8_0, IQ4_NL
inline constexpr int kSuperBlockSize = 256;  // Q2_K .. Q6_K, IQ4_XS

// Value i is d * (q_i - 8). q_0..q_15 in the low nibbles of qs[0..15], q_16..q_31 in the high ones.
struct BlockQ4_0 {
    uint16_t d;
    uint8_t qs[16];
};
static_assert(sizeof(BlockQ4_0) == 18);

// Value i is d * q_i + m. Nibbles as in Q4_0.
struct BlockQ4_1 {
    uint16_t d;
    uint16_t m;
    uint8_t qs[16];
};
static_assert(sizeof(BlockQ4_1) == 20);

// Value i is d * (q_i - 16). Low four bits as in Q4_0; bit i of qh, a little-endian 32-bit word, is q_i's fifth bit.
struct BlockQ5_0 {
    uint16_t d;
    uint8_t qh[4];
    uint8_t qs[16];
};
static_assert(sizeof(BlockQ5_0) == 22);

// Value i is d * q_i + m. Bits as in Q5_0.
struct BlockQ5_1 {
    uint16_t d;
    uint16_t m;
    uint8_t qh[4];
    uint8_t qs[16];
};
static_assert(sizeof(BlockQ5_1) == 24);

// Value i is d * qs[i].
struct BlockQ8_0 {
    uint16_t d;
    int8_t qs[32];
};
static_assert(sizeof(BlockQ8_0) == 34);

// 16 groups of 16. Group g: value = d * (scales[g] & 15) * q - dmin * (scales[g] >> 4), q of 2 bits.
// Values are packed by halves of 128 = 4 planes of 32: value 128 h + 32 p + l is bits 2p, 2p+1 of qs[32 h + l].
struct BlockQ2_K {
    uint8_t scales[16];
    uint8_t qs[64];
    uint16_t d;
    uint16_t dmin;
};
static_assert(sizeof(BlockQ2_K) == 84);

// 16 groups of 16. Group g: value = d * (s_g - 32) * (q - 4), s_g of 6 bits (unpack_scale_q3_K), q of 3 bits.
// The low two bits of q lie as in Q2_K; its third is, for value 32 p + l, bit p of hmask[l].
struct BlockQ3_K {
    uint8_t hmask[32];
    uint8_t qs[64];
    uint8_t scales[12];
    uint16_t d;
};
static_assert(sizeof(BlockQ3_K) == 110);

// 8 groups of 32. Group g: value = d * s_g * q - dmin * m_g, s_g and m_g of 6 bits (unpack_scale_q4_K), q of 4 bits.
// Values are packed by pairs of groups: value 64 c + l is the low nibble of qs[32 c + l], 64 c + 32 + l the high one.
struct BlockQ4_K {
    uint16_t d;
    uint16_t dmin;
    uint8_t scales[12];
    uint8_t qs[128];
};
static_assert(sizeof(BlockQ4_K) == 144);

// As Q4_K with q of 5 bits: the fifth bit of value 32 g + l is bit g of qh[l].
struct BlockQ5_K {
    uint16_t d;
    uint16_t dmin;
    uint8_t scales[12];
    uint8_t qh[32];
    uint8_t qs[128];
};
static_assert(sizeof(BlockQ5_K) == 176);

// 16 groups of 16. Group g: value = d * scales[g] * (q - 32), q of 6 bits.
// Value 128 h + 32 p + l: its low four bits are in ql[64 h + 32 (p & 1) + l], the low nibble for p = 0, 1 and the high
// one for p = 2, 3; its upper two are bits 2p, 2p+1 of qh[32 h + l].
struct BlockQ6_K {
    uint8_t ql[128];
    uint8_t qh[64];
    int8_t scales[16];
    uint16_t d;
};
static_assert(sizeof(BlockQ6_K) == 210);

// Value i is d * kIq4Values[q_i]. Nibbles as in Q4_0.
struct BlockIQ4_NL {
    uint16_t d;
    uint8_t qs[16];
};
static_assert(sizeof(BlockIQ4_NL) == 18);

// 8 groups of 32. Group g: value = d * (s_g - 32) * kIq4Values[q], s_g of 6 bits: its low four are nibble g of scales_l
// (even g low), its upper two are bits 2g, 2g+1 of scales_h. Value 32 g + l is the low nibble of qs[16 g + l],
// value 32 g + 16 + l the high one.
struct BlockIQ4_XS {
    uint16_t d;
    uint16_t scales_h;
    uint8_t scales_l[4];
    uint8_t qs[128];
};
static_assert(sizeof(BlockIQ4_XS) == 136);

// What a nibble of IQ4_NL and IQ4_XS stands for: steps that widen away from zero, as weights thin out there.
// Not inline: an object of one instruction set shall share nothing with others, and each file has its own.
constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

struct ScaleMin {
    uint8_t scale, min;
};

// Group g of 8 of Q4_K and Q5_K. scales[0..3] hold in their low six bits the scales of groups 0..3, scales[4..7] their
// mins. scales[8..11] hold for groups 4..7 the low four bits of scale (low nibble) and min (high nibble), whose upper
// two bits are the top two of scales[0..3] (scale) and scales[4..7] (min).
constexpr ScaleMin unpack_scale_q4_K(const uint8_t (&scales)[12], int g) {
    if (g < 4) return {uint8_t(scales[g] & 63), uint8_t(scales[g + 4] & 63)};
    return {uint8_t((scales[g + 4] & 15) | (scales[g - 4] >> 6 << 4)),
            uint8_t((scales[g + 4] >> 4) | (scales[g] >> 6 << 4))};
}

// Group g of 16 of Q3_K, 0 to 63; 32 stands for zero. The low four bits are the low (g < 8) or high nibble of
// scales[g % 8], the upper two are bits 2 (g / 4), 2 (g / 4) + 1 of scales[8 + g % 4].
constexpr int unpack_scale_q3_K(const uint8_t (&scales)[12], int g) {
    const int low = g < 8 ? scales[g] & 15 : scales[g - 8] >> 4;
    return low | ((scales[8 + g % 4] >> (2 * (g / 4))) & 3) << 4;
}

// Group g of 8 of IQ4_XS, 0 to 63; 32 stands for zero.
constexpr int unpack_scale_iq4_xs(const BlockIQ4_XS& block, int g) {
    return ((block.scales_l[g / 2] >> (4 * (g % 2))) & 15) | ((block.scales_h >> (2 * g)) & 3) << 4;
}

}  // namespace minfer::quant
