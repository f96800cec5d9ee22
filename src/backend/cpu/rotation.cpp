#include "backend/cpu/rotation.h"

#include <cstring>

namespace minfer::cpu {

namespace {

// Four values: what the baseline of every machine has. GCC's and clang's notation.
using Four [[gnu::vector_size(16)]] = float;

// Sums and differences of the values 2 apart, then of those 1 apart.
Four within(Four x) {
    const Four low = __builtin_shufflevector(x, x, 0, 1, 0, 1), high = __builtin_shufflevector(x, x, 2, 3, 2, 3);
    const Four y = __builtin_shufflevector(low + high, low - high, 0, 1, 4, 5);
    const Four even = __builtin_shufflevector(y, y, 0, 0, 2, 2), odd = __builtin_shufflevector(y, y, 1, 1, 3, 3);
    return __builtin_shufflevector(even + odd, even - odd, 0, 4, 2, 6);
}

}  // namespace

void rotate(const float* x, float* out, size_t n, float scale) {
    for (size_t i = 0; i < n; i += kRotation) {
        Four a[kRotation / 4];
        std::memcpy(a, x + i, sizeof a);
        // 16, 8 and 4 values apart.
        for (size_t apart = kRotation / 8; apart > 0; apart /= 2)
            for (size_t j = 0; j < kRotation / 4; j += 2 * apart)
                for (size_t k = j; k < j + apart; ++k) {
                    const Four u = a[k], v = a[k + apart];
                    a[k] = u + v;
                    a[k + apart] = u - v;
                }
        for (Four& each : a) each = within(each) * scale;
        std::memcpy(out + i, a, sizeof a);
    }
}

}  // namespace minfer::cpu
