// Half-precision floats in software. The bits are those of the hardware's conversions (F16C, NEON), subnormals and
// overflow included; docs/numerics.md, "Decoding".
#pragma once

#include <bit>
#include <cstdint>

namespace minfer {

// IEEE 754 binary16 to binary32, exact. A NaN keeps its payload and becomes quiet.
constexpr float f16_to_f32(uint16_t h) {
    const uint32_t sign = uint32_t(h & 0x8000u) << 16;
    const uint32_t exponent = (h >> 10) & 0x1fu;
    const uint32_t fraction = h & 0x3ffu;
    if (exponent == 0x1f) {
        const uint32_t quiet = fraction != 0 ? 0x400000u : 0u;
        return std::bit_cast<float>(sign | 0x7f800000u | quiet | (fraction << 13));
    }
    if (exponent == 0) {  // zero or fraction * 2^-24, which a float holds exactly
        const float magnitude = float(fraction) * 0x1p-24f;
        return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
    }
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

// binary32 to binary16, ties to even; too large becomes infinity. A NaN keeps its sign and its payload's high bits and
// becomes quiet.
constexpr uint16_t f32_to_f16(float x) {
    const uint32_t bits = std::bit_cast<uint32_t>(x);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return uint16_t(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
    if (magnitude >= 0x477ff000u) return uint16_t(sign | 0x7c00u);  // 65520 and above round to infinity
    if (magnitude < 0x38800000u) {                                  // below 2^-14: a multiple of 2^-24
        if (magnitude < 0x33000000u) return uint16_t(sign);         // below 2^-25 rounds to zero
        const uint32_t shift = 126 - (magnitude >> 23);
        const uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
        const uint32_t half = 1u << (shift - 1);
        const uint32_t rest = significand & ((1u << shift) - 1);
        uint32_t h = significand >> shift;
        if (rest > half || (rest == half && (h & 1u))) ++h;
        return uint16_t(sign | h);
    }
    const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return uint16_t(sign | ((rounded - 0x38000000u) >> 13));
}

// bfloat16 is the high half of a binary32: exact.
constexpr float bf16_to_f32(uint16_t h) { return std::bit_cast<float>(uint32_t(h) << 16); }

// Ties to even; a NaN keeps its high bits and becomes quiet. Subnormals are kept.
constexpr uint16_t f32_to_bf16(float x) {
    const uint32_t bits = std::bit_cast<uint32_t>(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return uint16_t((bits >> 16) | 0x40u);
    return uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace minfer
