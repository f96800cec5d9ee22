// How much memory this process has had at a time.
#pragma once

#include <cstdint>
#include <optional>

namespace minfer {

// The most bytes that were resident at a time since the start, or since the last reset: what the process has written,
// and pages of mapped files that it has touched. Nothing where the system does not say.
std::optional<uint64_t> peak_resident_bytes();

// Lets the peak begin anew at what is resident now. False where the system has no such thing.
bool reset_peak_resident_bytes();

}  // namespace minfer
