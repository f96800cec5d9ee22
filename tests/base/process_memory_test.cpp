#include "base/process_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace minfer {
namespace {

TEST(ProcessMemory, ThePeakStaysAndCanBeginAnew) {
    if (!peak_resident_bytes()) GTEST_SKIP() << "this system does not say";
    constexpr size_t kBytes = 64 << 20;
    const uint64_t before = *peak_resident_bytes();
    {
        const std::unique_ptr<char[]> bytes(new char[kBytes]);
        std::memset(bytes.get(), 1, kBytes);
        asm volatile("" : : "r"(bytes.get()) : "memory");
    }
    const uint64_t peak = *peak_resident_bytes();
    EXPECT_GE(peak, before + kBytes / 2);
    if (!reset_peak_resident_bytes()) GTEST_SKIP() << "this system cannot reset it";
    EXPECT_LE(*peak_resident_bytes(), peak - kBytes / 2);
}

}  // namespace
}  // namespace minfer
