#include "backend/cpu/swiglu.h"
#include "base/canonical_math.h"

namespace minfer::cpu {

void silu_row_reference(const float* x, float* out, size_t n) {
    for (size_t i = 0; i < n; ++i) out[i] = x[i] / (1.0f + canonical_exp(-x[i]));
}

void mul_row_reference(const float* a, const float* b, float* out, size_t n) {
    for (size_t i = 0; i < n; ++i) out[i] = a[i] * b[i];
}

void swiglu_row_reference(const float* gate, const float* up, float* out, size_t n) {
    for (size_t i = 0; i < n; ++i) out[i] = gate[i] / (1.0f + canonical_exp(-gate[i])) * up[i];
}

}  // namespace minfer::cpu
