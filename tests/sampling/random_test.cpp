#include "sampling/random.h"

#include <gtest/gtest.h>

namespace minfer::sampling {
namespace {

// The first numbers that the demonstration program of the PCG C library prints.
TEST(Random, IsPcg32) {
    Random random(42, 54);
    for (const uint32_t expected : {0xa15c02b7u, 0x7b47f409u, 0xba1d3330u, 0x83d2f293u, 0xbfa4784bu, 0xcbed606eu})
        EXPECT_EQ(random.next(), expected);
}

TEST(Random, SeedsAndStreamsDiffer) {
    EXPECT_NE(Random(1).next(), Random(2).next());
    EXPECT_NE(Random(1, 0).next(), Random(1, 1).next());
}

// The high 53 bits of two numbers, the first one above.
TEST(Random, UnitIsExact) { EXPECT_EQ(Random(42, 54).unit(), double(0xa15c02b77b47f409u >> 11) * 0x1p-53); }

TEST(Random, UnitIsInRangeAndEven) {
    Random random(5);
    constexpr int kBins = 64, kDraws = 640000;
    int count[kBins] = {};
    for (int i = 0; i < kDraws; ++i) {
        const double x = random.unit();
        ASSERT_GE(x, 0.0);
        ASSERT_LT(x, 1.0);
        ++count[int(x * kBins)];
    }
    double chi2 = 0;
    for (const int c : count) {
        const double d = c - double(kDraws) / kBins;
        chi2 += d * d / (double(kDraws) / kBins);
    }
    EXPECT_LT(chi2, 104);  // 63 degrees of freedom: exceeded once in 1000
    EXPECT_GT(chi2, 33);
}

}  // namespace
}  // namespace minfer::sampling
