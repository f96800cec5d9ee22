// Random numbers that are the same on any machine, which the standard library's distributions are not.
#pragma once

#include <cstdint>

namespace minfer::sampling {

// PCG-XSH-RR with 64 bits of state and 32 of output: M. O'Neill, "PCG: A Family of Simple Fast Space-Efficient
// Statistically Good Algorithms for Random Number Generation", 2014. The numbers of pcg32_srandom_r(seed, stream).
class Random {
  public:
    explicit Random(uint64_t seed, uint64_t stream = 0);

    uint32_t next();

    // Uniform in [0, 1): 53 bits of two draws, times 2^-53, so that every value is exact.
    double unit();

  private:
    uint64_t state_ = 0;
    uint64_t increment_;  // odd; it names the stream
};

}  // namespace minfer::sampling
