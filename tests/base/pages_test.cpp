#include "base/pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

namespace minfer {
namespace {

TEST(Pages, AreZeroedAndStartAtAHugePage) {
    for (const size_t bytes : {size_t(1), size_t(4097), Pages::kHugePage, 3 * Pages::kHugePage + 1}) {
        Pages pages(bytes);
        ASSERT_EQ(pages.size(), bytes);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(pages.data()) % Pages::kHugePage, 0u);
        EXPECT_TRUE(std::all_of(pages.data(), pages.data() + bytes, [](std::byte b) { return b == std::byte(0); }));
        std::fill_n(pages.data(), bytes, std::byte(1));
    }
}

TEST(Pages, OfBothSizesHoldTheSame) {
    for (const PageSize size : {PageSize::Huge, PageSize::Small}) {
        const Pages pages(2 * Pages::kHugePage, size);
        EXPECT_TRUE(
            std::all_of(pages.data(), pages.data() + pages.size(), [](std::byte b) { return b == std::byte(0); }));
        std::fill_n(pages.data(), pages.size(), std::byte(1));
    }
}

TEST(Pages, MoveWithTheirBytes) {
    Pages first(100);
    std::byte* const data = first.data();
    data[99] = std::byte(7);
    Pages second(std::move(first));
    EXPECT_EQ(second.data(), data);
    Pages third;
    EXPECT_EQ(third.size(), 0u);
    third = std::move(second);
    EXPECT_EQ(third.data()[99], std::byte(7));
    EXPECT_EQ(third.size(), 100u);
}

TEST(Pages, RefuseWhatThereIsNotEnoughOf) {
    EXPECT_THROW(Pages(SIZE_MAX), std::bad_alloc);
    EXPECT_THROW(Pages(SIZE_MAX / 2), std::bad_alloc);
}

}  // namespace
}  // namespace minfer
