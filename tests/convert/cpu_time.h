// For tests that hold a time against a limit.
#pragma once

#include <time.h>

namespace minfer::test {

// Of the calling thread on a CPU, for other programs may hold it too.
inline double cpu_seconds() {
    timespec now = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

// Whether the build is one whose speed counts: optimized, and without AddressSanitizer.
#if defined(__has_feature)  // Clang's way to tell
#if __has_feature(address_sanitizer)
#define MINFER_TEST_HAS_ASAN
#endif
#endif
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(MINFER_TEST_HAS_ASAN)
inline constexpr bool kSpeedCounts = true;
#else
inline constexpr bool kSpeedCounts = false;
#endif

}  // namespace minfer::test
