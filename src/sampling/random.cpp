#include "sampling/random.h"

#include <bit>

namespace minfer::sampling {
namespace {

constexpr uint64_t kMultiplier = 6364136223846793005u;  // Knuth's, as in the paper's reference

}  // namespace

Random::Random(uint64_t seed, uint64_t stream) : increment_(stream << 1 | 1) {
    next();
    state_ += seed;
    next();  // spreads a small seed over the state's high bits, which the output is made of
}

uint32_t Random::next() {
    const uint64_t old = state_;
    state_ = old * kMultiplier + increment_;
    const uint32_t shifted = uint32_t(((old >> 18) ^ old) >> 27);
    return std::rotr(shifted, int(old >> 59));
}

double Random::unit() {
    const uint64_t high = next();
    const uint64_t low = next();
    return double((high << 32 | low) >> 11) * 0x1p-53;
}

}  // namespace minfer::sampling
