// exp, log, pow, sin and cos whose bits are minfer's own: the same with any compiler, C library and CPU. The formulas
// and constants are those of docs/numerics.md, "Elementary functions"; tests/base/canonical_math_test.cpp holds each to
// its bound against long double. Nothing here depends on -ffp-contract: fma happens where it is written.
#pragma once

#include <span>

namespace minfer {

// float exp, at most 1 ulp off. exp(0) = 1, exp(-inf) = 0, exp(inf) = inf, NaN to NaN. Below -104 it is 0; a subnormal
// result is rounded once more. The vector kernels compute the same bits.
float canonical_exp(float x);

// double versions, at most 1 ulp off over the whole range.
double canonical_exp(double x);
// Of each value, in place: the same bits, with fused multiply-adds of the CPU's own where it has them.
void canonical_exp_each(std::span<double> values);
double canonical_log(double x);            // log(0) = -inf; below 0: NaN
double canonical_pow(double x, double y);  // exp(y log x), x > 0: at most 2 + 2 |y log x| ulp off
// |x| <= 2^31, where they are at most 1 ulp off; NaN beyond.
double canonical_sin(double x);
double canonical_cos(double x);

}  // namespace minfer
