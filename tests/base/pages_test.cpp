#include "base/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <utility>

namespace minfer {
namespace {

TEST(Pages, AreZeroedAndStartAtAHugePage) {
    for (const size_t bytes : {size_t(1), size_t(4097), Pages::kHugePage, 3 * Pages::kHugePage + 1}) {
        for (const PageSize size : {PageSize::Huge, PageSize::Small}) {
            Pages pages(bytes, size);
            ASSERT_EQ(pages.size(), bytes);
            EXPECT_EQ(reinterpret_cast<uintptr_t>(pages.data()) % Pages::kHugePage, 0u);
            EXPECT_TRUE(std::all_of(pages.data(), pages.data() + bytes, [](std::byte b) { return b == std::byte(0); }));
            std::fill_n(pages.data(), bytes, std::byte(1));
        }
    }
}

// What the system was told of the mapping that an address lies in: "hg" for huge pages, "nh" for none.
std::string flags_at(const void* address) {
    std::ifstream maps("/proc/self/smaps");
    bool inside = false;
    for (std::string line; std::getline(maps, line);) {
        uintptr_t begin = 0, end = 0;
        if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2)
            inside = begin <= reinterpret_cast<uintptr_t>(address) && reinterpret_cast<uintptr_t>(address) < end;
        if (inside && line.starts_with("VmFlags:")) return line + " ";
    }
    return "";
}

TEST(Pages, AskForTheirSize) {
    if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) GTEST_SKIP() << "no huge pages here";
    const Pages huge(2 * Pages::kHugePage), small(2 * Pages::kHugePage, PageSize::Small);
    EXPECT_THAT(flags_at(huge.data()), testing::HasSubstr(" hg "));
    EXPECT_THAT(flags_at(small.data()), testing::HasSubstr(" nh "));
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
