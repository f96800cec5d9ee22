// The elementary functions against long double, with the bounds of canonical_math.h.
#include "base/canonical_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace minfer {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

uint64_t state = 0;
uint64_t random_bits() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}
double uniform(double from, double to) { return from + (to - from) * (double(random_bits() >> 11) * 0x1p-53); }

// How far `got` is from `exact`, in units of the last place of a double of exact's size.
double ulps(double got, long double exact) {
    const double near = double(exact);
    const double place = std::nextafter(std::fabs(near), kInfinity) - std::fabs(near);
    return double(std::fabs((static_cast<long double>(got) - exact) / static_cast<long double>(place)));
}
double ulps(float got, double exact) {
    const float near = float(exact);
    const float place = std::nextafter(std::fabs(near), std::numeric_limits<float>::infinity()) - std::fabs(near);
    return std::fabs((double(got) - exact) / double(place));
}

TEST(CanonicalMath, FloatExp) {
    double worst = 0;
    // Every 397th float of the range in which the result is neither 0 nor infinite.
    for (uint32_t b = 0; b <= std::bit_cast<uint32_t>(104.0f); b += 397)
        for (const float x : {std::bit_cast<float>(b), -std::bit_cast<float>(b)}) {
            const double exact = std::exp(double(x));
            if (exact > double(std::numeric_limits<float>::max()))
                EXPECT_GE(canonical_exp(x), std::numeric_limits<float>::max());
            else
                worst = std::max(worst, ulps(canonical_exp(x), exact));
        }
    EXPECT_LE(worst, 1.0);
    EXPECT_GE(worst, 0.5);  // or the measure is broken
}

TEST(CanonicalMath, FloatExpAtTheEnds) {
    const float infinity = std::numeric_limits<float>::infinity();
    EXPECT_EQ(canonical_exp(0.0f), 1.0f);
    EXPECT_EQ(canonical_exp(-0.0f), 1.0f);
    EXPECT_EQ(canonical_exp(infinity), infinity);
    EXPECT_EQ(canonical_exp(1e30f), infinity);
    EXPECT_EQ(canonical_exp(-infinity), 0.0f);
    EXPECT_EQ(canonical_exp(-1e30f), 0.0f);
    EXPECT_EQ(canonical_exp(-103.9f), 0x1p-149f);
    EXPECT_EQ(canonical_exp(-104.0f), 0.0f);
    EXPECT_TRUE(std::isnan(canonical_exp(std::numeric_limits<float>::quiet_NaN())));
}

TEST(CanonicalMath, DoubleExp) {
    double worst = 0;
    for (int i = 0; i < 300000; ++i) {
        const double x = uniform(-708, 709);
        worst = std::max(worst, ulps(canonical_exp(x), std::exp(static_cast<long double>(x))));
        const double small = uniform(-1, 1);
        worst = std::max(worst, ulps(canonical_exp(small), std::exp(static_cast<long double>(small))));
    }
    EXPECT_LE(worst, 1.0);
    EXPECT_EQ(canonical_exp(0.0), 1.0);
    EXPECT_EQ(canonical_exp(-kInfinity), 0.0);
    EXPECT_EQ(canonical_exp(kInfinity), kInfinity);
    EXPECT_EQ(canonical_exp(-745.1), 0x1p-1074);
    EXPECT_EQ(canonical_exp(-746.0), 0.0);
    EXPECT_TRUE(std::isnan(canonical_exp(std::nan(""))));
}

TEST(CanonicalMath, DoubleLog) {
    double worst = 0;
    for (int i = 0; i < 300000; ++i) {
        double x = std::bit_cast<double>(random_bits() & 0x7fffffffffffffff);
        if (std::isfinite(x)) worst = std::max(worst, ulps(canonical_log(x), std::log(static_cast<long double>(x))));
        x = uniform(0.5, 2);
        worst = std::max(worst, ulps(canonical_log(x), std::log(static_cast<long double>(x))));
        x = 1 + uniform(-1e-6, 1e-6);
        worst = std::max(worst, ulps(canonical_log(x), std::log(static_cast<long double>(x))));
    }
    EXPECT_LE(worst, 1.0);
    EXPECT_EQ(canonical_log(1.0), 0.0);
    EXPECT_EQ(canonical_log(0.0), -kInfinity);
    EXPECT_EQ(canonical_log(kInfinity), kInfinity);
    EXPECT_TRUE(std::isnan(canonical_log(-1.0)));
    EXPECT_LE(ulps(canonical_log(0x1p-1074), std::log(0x1p-1074L)), 1.0);
}

TEST(CanonicalMath, Pow) {
    for (int i = 0; i < 100000; ++i) {
        const double x = uniform(1, 1e7), y = uniform(-2, 2);
        const double bound = 2 + 2 * std::fabs(y * std::log(x));
        EXPECT_LE(ulps(canonical_pow(x, y), std::pow(static_cast<long double>(x), static_cast<long double>(y))), bound);
    }
    EXPECT_EQ(canonical_pow(10000, 0), 1.0);
}

TEST(CanonicalMath, SinAndCos) {
    double worst = 0;
    const auto check = [&](double x) {
        worst = std::max(worst, ulps(canonical_sin(x), std::sin(static_cast<long double>(x))));
        worst = std::max(worst, ulps(canonical_cos(x), std::cos(static_cast<long double>(x))));
    };
    for (int i = 0; i < 200000; ++i) {
        check(uniform(-4, 4));
        check(uniform(0, 131072));
        check(uniform(-0x1p31, 0x1p31));
        check(double(int64_t(random_bits() % (1u << 31))));
    }
    for (int k = 1; k < 200000; ++k) check(double(k) * 0x1.921fb54442d18p+0);  // the doubles next to the zeros
    EXPECT_LE(worst, 1.0);
    EXPECT_EQ(canonical_sin(0.0), 0.0);
    EXPECT_TRUE(std::signbit(canonical_sin(-0.0)));
    EXPECT_EQ(canonical_cos(0.0), 1.0);
    EXPECT_TRUE(std::isnan(canonical_sin(0x1p32)));
    EXPECT_TRUE(std::isnan(canonical_cos(kInfinity)));
    EXPECT_TRUE(std::isnan(canonical_cos(std::nan(""))));
}

// Recorded: the same with any compiler, C library and CPU.
TEST(CanonicalMath, HasTheRecordedBits) {
    state = 42;
    uint64_t hash = 0xcbf29ce484222325;
    const auto add = [&](auto x) {
        if (std::isnan(x)) x = 0;
        for (uint64_t b = std::bit_cast<std::conditional_t<sizeof x == 8, uint64_t, uint32_t>>(x), i = 0; i < sizeof x;
             ++i, b >>= 8)
            hash = (hash ^ (b & 255)) * 0x100000001b3;
    };
    for (int i = 0; i < 20000; ++i) {
        add(canonical_exp(float(uniform(-110, 95))));
        add(canonical_exp(uniform(-750, 715)));
        add(canonical_log(std::bit_cast<double>(random_bits() & 0x7fffffffffffffff)));
        const double x = uniform(0.1, 1e6), y = uniform(-3, 3);  // apart: arguments have no order
        add(canonical_pow(x, y));
        add(canonical_sin(uniform(-1e6, 1e6)));
        add(canonical_cos(uniform(-0x1p31, 0x1p31)));
    }
    EXPECT_EQ(hash, 18404669277908145207u);
}

TEST(CanonicalMath, ManyExponentialsHaveTheBitsOfOne) {
    std::vector<double> x = {0.0,   -0.0,  1.0,       -745.2,     -746.5,
                             709.8, 710.5, kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()};
    for (int i = 0; i < 100000; ++i) x.push_back(uniform(-760, 720));
    std::vector<double> each = x;
    canonical_exp_each(each);
    for (size_t i = 0; i < x.size(); ++i)
        EXPECT_EQ(std::bit_cast<uint64_t>(each[i]), std::bit_cast<uint64_t>(canonical_exp(x[i]))) << x[i];
}

}  // namespace
}  // namespace minfer
