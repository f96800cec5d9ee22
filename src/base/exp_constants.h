// The constants of the float exp of docs/numerics.md, "Elementary functions": canonical_math.cpp and the vector kernels
// compute it from these, in one order.
//   t = fma(x, kLog2E, kRound);  n = t - kRound;  r = fma(n, -kLn2High, x);  r = fma(n, -kLn2Low, r)
//   q = c4;  q = fma(q, r, c3) ... c0;  exp(x) = (1 + fma(r * r, q, r)) * 2^(n - n/2) * 2^(n/2), n/2 rounded down
#pragma once

namespace minfer::exp_f32 {

inline constexpr float kLargest = 89.0f;     // above it exp is infinite: 2^128 is exp(88.73)
inline constexpr float kSmallest = -104.0f;  // below it exp is less than half of 2^-149
inline constexpr float kLog2E = 0x1.715476p+0f;
inline constexpr float kRound = 0x1.8p+23f;      // adding it leaves an integer in the low bits, ties to even
inline constexpr float kLn2High = 0x1.62e4p-1f;  // 15 bits: n * kLn2High is exact
inline constexpr float kLn2Low = 0x1.7f7d1cp-20f;
// (exp(r) - 1 - r) / r^2 on |r| <= ln(2) / 2, smallest largest error of exp(r): 0.06 ulp before the last rounding.
inline constexpr float kC0 = 0x1.fffffcp-2f;
inline constexpr float kC1 = 0x1.555492p-3f;
inline constexpr float kC2 = 0x1.5558f4p-5f;
inline constexpr float kC3 = 0x1.123a1cp-7f;
inline constexpr float kC4 = 0x1.6a23acp-10f;

}  // namespace minfer::exp_f32
