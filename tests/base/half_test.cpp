// The conversions against values worked out by hand and against their own inverse over every half.
#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace minfer {
namespace {

TEST(Half, EveryF16SurvivesTheRoundTrip) {
    for (uint32_t h = 0; h < 0x10000; ++h) {
        const float f = f16_to_f32(uint16_t(h));
        const bool nan = (h & 0x7c00) == 0x7c00 && (h & 0x3ff) != 0;
        EXPECT_EQ(std::isnan(f), nan) << h;
        EXPECT_EQ(f32_to_f16(f), nan ? (h | 0x200) : h) << h;
    }
}

TEST(Half, F16RoundsTiesToEven) {
    EXPECT_EQ(f32_to_f16(2048.0f), 0x6800);
    EXPECT_EQ(f32_to_f16(2049.0f), 0x6800);
    EXPECT_EQ(f32_to_f16(2051.0f), 0x6802);
    EXPECT_EQ(f32_to_f16(std::nextafter(2049.0f, 3000.0f)), 0x6801);
    EXPECT_EQ(f32_to_f16(65519.996f), 0x7bff);
    EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
    EXPECT_EQ(f32_to_f16(-1e30f), 0xfc00);
}

TEST(Half, F16Subnormals) {
    EXPECT_EQ(f32_to_f16(0x1p-24f), 0x0001);
    EXPECT_EQ(f32_to_f16(0x1p-25f), 0x0000);
    EXPECT_EQ(f32_to_f16(std::nextafter(0x1p-25f, 1.0f)), 0x0001);
    EXPECT_EQ(f32_to_f16(0x1.8p-24f), 0x0002);
    EXPECT_EQ(f32_to_f16(-0x1p-14f), 0x8400);
    EXPECT_EQ(f32_to_f16(std::nextafter(0x1p-14f, 0.0f)), 0x0400);
    EXPECT_EQ(f16_to_f32(0x8001), -0x1p-24f);
}

TEST(Half, Bf16RoundsTiesToEvenAndQuietsNaN) {
    for (uint32_t h = 0; h < 0x10000; ++h) {
        const bool nan = (h & 0x7f80) == 0x7f80 && (h & 0x7f) != 0;
        EXPECT_EQ(f32_to_bf16(bf16_to_f32(uint16_t(h))), nan ? (h | 0x40) : h) << h;
    }
    EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f808000u)), 0x3f80);
    EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f818000u)), 0x3f82);
    EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f808001u)), 0x3f81);
    EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
}

}  // namespace
}  // namespace minfer
