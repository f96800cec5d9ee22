#include "base/canonical_math.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/cpu_features.h"
#include "base/exp_constants.h"

namespace minfer {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// ln 2: 32 bits, so that n times them is exact, and the rest.
constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kLog2E = 0x1.71547652b82fep+0;
// pi / 2 as a sum of three doubles, and its inverse.
constexpr double kHalfPi1 = 0x1.921fb54442d18p+0, kHalfPi2 = 0x1.1a62633145c06p-54, kHalfPi3 = 0x1.c1cd129024e09p-107;
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
constexpr double kRound = 0x1.8p+52;  // adding and subtracting it rounds to an integer, ties to even

[[gnu::always_inline]] inline double power_of_two(int n) { return std::bit_cast<double>(uint64_t(n + 1023) << 52); }

// x = k * pi / 2 + high + low, |high| <= pi / 4 and a little.
struct Reduced {
    int64_t quadrant;
    double high, low;
};
Reduced reduce(double x) {
    const double k = (x * kTwoOverPi + kRound) - kRound;
    // Both x and k * kHalfPi1 are multiples of the last place of kHalfPi1 or of x, and their difference is below 1:
    // exact.
    const double first = std::fma(-k, kHalfPi1, x);
    // first - k * kHalfPi2 as an unrounded sum (Knuth's two-sum), then the third part, then high and low made apart.
    const double product = k * kHalfPi2, product_rest = std::fma(k, kHalfPi2, -product);
    const double sum = first - product, back = sum - first;
    const double sum_rest = (first - (sum - back)) - (product + back);
    const double rest = std::fma(-k, kHalfPi3, sum_rest - product_rest);
    const double high = sum + rest;
    return {int64_t(k), high, rest - (high - sum)};
}

// Taylor's series to r^17 and r^16: on |r| <= pi / 4 the first terms left out are below 2^-60.
double sin_reduced(double r, double low) {
    const double z = r * r;
    double s = 1.0 / 355687428096000;
    s = std::fma(s, z, -1.0 / 1307674368000);
    s = std::fma(s, z, 1.0 / 6227020800);
    s = std::fma(s, z, -1.0 / 39916800);
    s = std::fma(s, z, 1.0 / 362880);
    s = std::fma(s, z, -1.0 / 5040);
    s = std::fma(s, z, 1.0 / 120);
    s = std::fma(s, z, -1.0 / 6);
    return r + std::fma(r * z, s, low);
}

double cos_reduced(double r, double low) {
    const double z = r * r;
    double c = 1.0 / 20922789888000;
    c = std::fma(c, z, -1.0 / 87178291200);
    c = std::fma(c, z, 1.0 / 479001600);
    c = std::fma(c, z, -1.0 / 3628800);
    c = std::fma(c, z, 1.0 / 40320);
    c = std::fma(c, z, -1.0 / 720);
    c = std::fma(c, z, 1.0 / 24);
    const double half = 0.5 * z, one_less = 1.0 - half;
    // What one_less lost in rounding, then the higher terms, then the derivative times low.
    return one_less + std::fma(z * z, c, std::fma(-r, low, (1.0 - one_less) - half));
}

double sin_of_quadrant(const Reduced& x, int64_t shift) {
    const int64_t quadrant = (x.quadrant + shift) & 3;
    const double value = quadrant & 1 ? cos_reduced(x.high, x.low) : sin_reduced(x.high, x.low);
    return quadrant & 2 ? -value : value;
}

// Part of each loop below, with the instructions of that loop.
[[gnu::always_inline]] inline double exp_of(double x) {
    if (std::isnan(x)) return x;
    if (x > 710) return kInfinity;
    if (x < -746) return 0;
    const double n_double = (x * kLog2E + kRound) - kRound;
    const double r = std::fma(-n_double, kLn2Low, std::fma(-n_double, kLn2High, x));
    // Taylor's series to r^13: on |r| <= ln(2) / 2 the first term left out is below 2^-57.
    double q = 1.0 / 6227020800;
    q = std::fma(q, r, 1.0 / 479001600);
    q = std::fma(q, r, 1.0 / 39916800);
    q = std::fma(q, r, 1.0 / 3628800);
    q = std::fma(q, r, 1.0 / 362880);
    q = std::fma(q, r, 1.0 / 40320);
    q = std::fma(q, r, 1.0 / 5040);
    q = std::fma(q, r, 1.0 / 720);
    q = std::fma(q, r, 1.0 / 120);
    q = std::fma(q, r, 1.0 / 24);
    q = std::fma(q, r, 1.0 / 6);
    q = std::fma(q, r, 0.5);
    const double p = 1.0 + std::fma(r * r, q, r);
    const int n = int(n_double), half = n >> 1;
    return p * power_of_two(n - half) * power_of_two(half);
}

#if defined(__x86_64__)
// Without these instructions a fused multiply-add is a call into the C library, and this ten times as slow.
[[gnu::target("avx2,fma")]] void exp_each_fma(std::span<double> values) {
    double* const x = values.data();
    for (size_t i = 0; i < values.size(); ++i) x[i] = exp_of(x[i]);
}

bool has_fma() {
    const CpuFeatures features = usable_cpu_features();
    return features.avx2 && features.fma;
}
#endif

}  // namespace

float canonical_exp(float x) {
    if (std::isnan(x)) return x;
    if (x > exp_f32::kLargest) x = exp_f32::kLargest;
    if (x < exp_f32::kSmallest) x = exp_f32::kSmallest;
    const float t = std::fma(x, exp_f32::kLog2E, exp_f32::kRound);
    const int32_t n = std::bit_cast<int32_t>(t) - std::bit_cast<int32_t>(exp_f32::kRound);
    const float n_float = t - exp_f32::kRound;
    const float r = std::fma(-n_float, exp_f32::kLn2Low, std::fma(-n_float, exp_f32::kLn2High, x));
    float q = exp_f32::kC4;
    q = std::fma(q, r, exp_f32::kC3);
    q = std::fma(q, r, exp_f32::kC2);
    q = std::fma(q, r, exp_f32::kC1);
    q = std::fma(q, r, exp_f32::kC0);
    const float p = 1.0f + std::fma(r * r, q, r);
    const int32_t half = n >> 1;
    return p * std::bit_cast<float>((n - half + 127) << 23) * std::bit_cast<float>((half + 127) << 23);
}

double canonical_exp(double x) { return exp_of(x); }

void canonical_exp_each(std::span<double> values) {
#if defined(__x86_64__)
    static const bool kHasFma = has_fma();
    if (kHasFma) {
        exp_each_fma(values);
        return;
    }
#endif
    for (double& x : values) x = exp_of(x);
}

double canonical_log(double x) {
    if (std::isnan(x)) return x;
    if (x == 0) return -kInfinity;
    if (x < 0) return kNaN;
    if (x == kInfinity) return x;
    int exponent = 0;
    if (x < std::numeric_limits<double>::min()) {
        x *= 0x1p54;
        exponent = -54;
    }
    // x = m * 2^exponent with m in [sqrt(1/2), sqrt(2)): so log(m) is never much larger than the sum it is part of.
    const uint64_t bits = std::bit_cast<uint64_t>(x);
    exponent += int(bits >> 52) - 1023;
    double m = std::bit_cast<double>((bits & 0xfffffffffffffULL) | 0x3ff0000000000000ULL);
    if (m >= 0x1.6a09e667f3bcdp+0) {
        m *= 0.5;
        ++exponent;
    }
    // log(1 + f) = 2 atanh(s) with s = f / (2 + f); 2 s = f - s f, and s f = s (f^2 / 2 + ...) keeps f unrounded.
    // Series to s^22: the first term left out is below 2^-60.
    const double f = m - 1, s = f / (2 + f), z = s * s;
    double r = 2.0 / 23;
    r = std::fma(r, z, 2.0 / 21);
    r = std::fma(r, z, 2.0 / 19);
    r = std::fma(r, z, 2.0 / 17);
    r = std::fma(r, z, 2.0 / 15);
    r = std::fma(r, z, 2.0 / 13);
    r = std::fma(r, z, 2.0 / 11);
    r = std::fma(r, z, 2.0 / 9);
    r = std::fma(r, z, 2.0 / 7);
    r = std::fma(r, z, 2.0 / 5);
    r = std::fma(r, z, 2.0 / 3);
    r *= z;
    const double half_square = 0.5 * f * f, e = exponent;
    return e * kLn2High - ((half_square - (s * (half_square + r) + e * kLn2Low)) - f);
}

double canonical_pow(double x, double y) { return canonical_exp(y * canonical_log(x)); }

double canonical_sin(double x) {
    if (!(std::fabs(x) <= 0x1p31)) return kNaN;
    if (x == 0) return x;
    return sin_of_quadrant(reduce(x), 0);
}

double canonical_cos(double x) {
    if (!(std::fabs(x) <= 0x1p31)) return kNaN;
    return sin_of_quadrant(reduce(x), 1);
}

}  // namespace minfer
