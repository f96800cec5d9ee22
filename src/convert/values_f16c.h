// The conversions that AVX2 and F16C have instructions for; only where built_with_f16c() and the CPU say so. What the
// vectors leave over, and what holds a NaN, goes to `one_by_one`.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace minfer::convert {

bool built_with_f16c();

using OneByOne = void (*)(const void* in, void* out, size_t n);

void f16_to_f32_f16c(const void* in, void* out, size_t n, OneByOne one_by_one);
void f32_to_f16_f16c(const void* in, void* out, size_t n, OneByOne one_by_one);
void bf16_to_f32_avx2(const void* in, void* out, size_t n, OneByOne one_by_one);
void f32_to_bf16_avx2(const void* in, void* out, size_t n, OneByOne one_by_one);

}  // namespace minfer::convert
