#include <cmath>

#include "backend/cpu/rms_norm.h"

namespace minfer::cpu {

void rms_norm_row_reference(const float* x, const float* weight, float eps, float* out, size_t dim) {
    float lane[16] = {};
    for (size_t i = 0; i < dim; ++i) lane[i % 16] = std::fma(x[i], x[i], lane[i % 16]);
    for (size_t half = 8; half > 0; half /= 2)
        for (size_t i = 0; i < half; ++i) lane[i] += lane[i + half];
    const float scale = 1.0f / std::sqrt(lane[0] / float(dim) + eps);
    for (size_t i = 0; i < dim; ++i) out[i] = x[i] * scale * weight[i];
}

}  // namespace minfer::cpu
