#include "backend/cpu/rotation.h"

namespace minfer::cpu {

void rotate(const float* x, float* out, size_t n, float scale) {
    for (size_t i = 0; i < n; i += kRotation) {
        // Sums and differences of values 16 apart, then 8, 4, 2, 1.
        float a[kRotation], b[kRotation];
        for (size_t j = 0; j < kRotation; ++j) a[j] = x[i + j];
        for (size_t apart = kRotation / 2; apart > 0; apart /= 2) {
            for (size_t j = 0; j < kRotation; j += 2 * apart)
                for (size_t k = j; k < j + apart; ++k) {
                    b[k] = a[k] + a[k + apart];
                    b[k + apart] = a[k] - a[k + apart];
                }
            for (size_t j = 0; j < kRotation; ++j) a[j] = b[j];
        }
        for (size_t j = 0; j < kRotation; ++j) out[i + j] = a[j] * scale;
    }
}

}  // namespace minfer::cpu
