// The conversions that AVX2 and F16C have instructions for; only where built_with_f16c() and the CPU say so. What the
// vectors leave over, and what holds a NaN, goes to `one_by_one`.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace minfer::convert {

bool built_with_f16c();

void f16_to_f32_f16c(const uint16_t* in, float* out, size_t n, void (*one_by_one)(const uint16_t*, float*, size_t));
void f32_to_f16_f16c(const float* in, uint16_t* out, size_t n, void (*one_by_one)(const float*, uint16_t*, size_t));
void bf16_to_f32_avx2(const uint16_t* in, float* out, size_t n);
void f32_to_bf16_avx2(const float* in, uint16_t* out, size_t n, void (*one_by_one)(const float*, uint16_t*, size_t));

}  // namespace minfer::convert
