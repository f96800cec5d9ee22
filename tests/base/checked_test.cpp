#include "base/checked.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace minfer {
namespace {

TEST(Checked, NothingWhere64BitsOverflow) {
    EXPECT_EQ(checked_add(UINT64_MAX - 1, 1), UINT64_MAX);
    EXPECT_EQ(checked_add(UINT64_MAX, 1), std::nullopt);
    EXPECT_EQ(checked_mul(uint64_t(1) << 32, (uint64_t(1) << 32) - 1), UINT64_MAX - ((uint64_t(1) << 32) - 1));
    EXPECT_EQ(checked_mul(uint64_t(1) << 32, uint64_t(1) << 32), std::nullopt);
    EXPECT_EQ(checked_mul(0, UINT64_MAX), 0u);
    EXPECT_EQ(checked_align_up(0, 32), 0u);
    EXPECT_EQ(checked_align_up(33, 32), 64u);
    EXPECT_EQ(checked_align_up(64, 32), 64u);
    EXPECT_EQ(checked_align_up(7, 1), 7u);
    EXPECT_EQ(checked_align_up(UINT64_MAX - 30, 32), std::nullopt);
}

TEST(Budget, AsksByDivision) {
    Budget budget(100);
    EXPECT_TRUE(budget.covers(25, 4));
    EXPECT_FALSE(budget.covers(26, 4));
    EXPECT_FALSE(budget.covers(UINT64_MAX, UINT64_MAX));
    EXPECT_FALSE(budget.covers(uint64_t(1) << 62, 4));  // a product of 2^64
    EXPECT_TRUE(budget.covers(UINT64_MAX, 0));
    EXPECT_FALSE(budget.spend(26, 4));
    EXPECT_EQ(budget.left(), 100u);
    EXPECT_TRUE(budget.spend(25, 4));
    EXPECT_EQ(budget.left(), 0u);
    EXPECT_TRUE(budget.spend(0));
    EXPECT_FALSE(budget.spend(1));
}

TEST(ByteCursor, StaysWhereItIsAtTheEnd) {
    const std::array<uint8_t, 6> raw = {1, 2, 3, 4, 5, 6};
    ByteCursor cursor(std::as_bytes(std::span(raw)));
    EXPECT_EQ(cursor.read<uint32_t>(), 0x04030201u);
    EXPECT_EQ(cursor.read<uint32_t>(), std::nullopt);
    EXPECT_FALSE(cursor.take(UINT64_MAX));
    EXPECT_EQ(cursor.position(), 4u);
    EXPECT_EQ(cursor.read<uint16_t>(), 0x0605u);
    EXPECT_EQ(cursor.left(), 0u);
    EXPECT_TRUE(cursor.take(0));
    EXPECT_EQ(cursor.read<uint8_t>(), std::nullopt);
}

}  // namespace
}  // namespace minfer
