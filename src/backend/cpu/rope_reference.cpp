#include "backend/cpu/rope.h"

namespace minfer::cpu {

namespace {

void turn(const float* x, const float* bias, float cos, float sin, float* out, size_t first, size_t second) {
    const float a = bias ? x[first] + bias[first] : x[first];
    const float b = bias ? x[second] + bias[second] : x[second];
    out[first] = a * cos - b * sin;
    out[second] = a * sin + b * cos;
}

void copy_rest(const float* x, const float* bias, float* out, size_t from, size_t head_dim) {
    for (size_t i = from; i < head_dim; ++i) out[i] = bias ? x[i] + bias[i] : x[i];
}

}  // namespace

void rope_interleaved_reference(const float* x, const float* bias, const float* cos, const float* sin, float* out,
                                size_t n_rot, size_t head_dim) {
    for (size_t j = 0; j < n_rot / 2; ++j) turn(x, bias, cos[j], sin[j], out, 2 * j, 2 * j + 1);
    copy_rest(x, bias, out, n_rot, head_dim);
}

void rope_halves_reference(const float* x, const float* bias, const float* cos, const float* sin, float* out,
                           size_t n_rot, size_t head_dim) {
    for (size_t j = 0; j < n_rot / 2; ++j) turn(x, bias, cos[j], sin[j], out, j, j + n_rot / 2);
    copy_rest(x, bias, out, n_rot, head_dim);
}

}  // namespace minfer::cpu
