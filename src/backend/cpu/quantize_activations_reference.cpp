#include <cmath>
#include <limits>

#include "backend/cpu/quantize_activations.h"

namespace minfer::cpu {

void quantize_row_reference(const float* x, size_t n_in, size_t block, const QuantizedRow& out) {
    for (size_t b = 0; b < n_in / block; ++b) {
        const float* v = x + b * block;
        int8_t* q = out.q + b * block;
        bool finite = true;
        float amax = 0;
        for (size_t i = 0; i < block; ++i) {
            finite = finite && std::isfinite(v[i]);
            if (std::fabs(v[i]) > amax) amax = std::fabs(v[i]);
        }
        const bool zero = !finite || amax < 0x1p-100f;
        out.d[b] = !finite ? std::numeric_limits<float>::quiet_NaN() : zero ? 0.0f : amax / 127.0f;
        const float inverse = zero ? 0.0f : 127.0f / amax;
        for (size_t i = 0; i < block; ++i) q[i] = zero ? int8_t(0) : int8_t(std::nearbyint(v[i] * inverse));
    }
    for (size_t g = 0; g < n_in / 32; ++g) {
        int low = 0, high = 0;
        for (size_t i = 0; i < 16; ++i) {
            low += out.q[g * 32 + i];
            high += out.q[g * 32 + 16 + i];
        }
        if (out.sums16) {
            out.sums16[2 * g] = int16_t(low);
            out.sums16[2 * g + 1] = int16_t(high);
        }
        out.sums32[g] = int16_t(low + high);
    }
}

}  // namespace minfer::cpu
