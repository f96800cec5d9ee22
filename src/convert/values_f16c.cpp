// The conversions with AVX2 and F16C. Built with those instructions on, so nothing here may be a template or inline
// function of a header: the linker would be free to use this file's copy elsewhere.
#include "convert/values_f16c.h"

#if defined(__AVX2__) && defined(__F16C__)

#include <immintrin.h>

namespace minfer::convert {
namespace {

// The hardware makes NaNs quiet, and the reference does not: eight values with a NaN among them go one by one. `inf` in
// every lane; magnitudes above it are NaNs.
bool any_above(__m256i magnitude, int inf) {
    return _mm256_movemask_epi8(_mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(inf))) != 0;
}

}  // namespace

void f16_to_f32_f16c(const uint16_t* in, float* out, size_t n, void (*one_by_one)(const uint16_t*, float*, size_t)) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i));
        const __m256i magnitude = _mm256_cvtepu16_epi32(_mm_and_si128(half, _mm_set1_epi16(0x7fff)));
        if (any_above(magnitude, 0x7c00))
            one_by_one(in + i, out + i, 8);
        else
            _mm256_storeu_ps(out + i, _mm256_cvtph_ps(half));
    }
    one_by_one(in + i, out + i, n - i);
}

void f32_to_f16_f16c(const float* in, uint16_t* out, size_t n, void (*one_by_one)(const float*, uint16_t*, size_t)) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 x = _mm256_loadu_ps(in + i);
        const __m256i magnitude = _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7fffffff));
        if (any_above(magnitude, 0x7f800000))
            one_by_one(in + i, out + i, 8);
        else
            _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
    }
    one_by_one(in + i, out + i, n - i);
}

void bf16_to_f32_avx2(const uint16_t* in, float* out, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i)));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_slli_epi32(wide, 16));
    }
    for (; i < n; ++i) {
        const uint32_t bits = uint32_t(in[i]) << 16;
        __builtin_memcpy(out + i, &bits, sizeof bits);
    }
}

void f32_to_bf16_avx2(const float* in, uint16_t* out, size_t n, void (*one_by_one)(const float*, uint16_t*, size_t)) {
    const __m256i below_half = _mm256_set1_epi32(0x7fff), one = _mm256_set1_epi32(1);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m256i rounded[2];
        bool nan = false;
        for (int k = 0; k < 2; ++k) {
            const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i + 8 * k));
            nan |= any_above(_mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff)), 0x7f800000);
            const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
            rounded[k] = _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(bits, below_half), odd), 16);
        }
        if (nan) {
            one_by_one(in + i, out + i, 16);
            continue;
        }
        // packus works on 128-bit halves; the permutation puts their quarters in order again.
        const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(rounded[0], rounded[1]), 0xd8);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), packed);
    }
    one_by_one(in + i, out + i, n - i);
}

bool built_with_f16c() { return true; }

}  // namespace minfer::convert

#else

namespace minfer::convert {

void f16_to_f32_f16c(const uint16_t*, float*, size_t, void (*)(const uint16_t*, float*, size_t)) {}
void f32_to_f16_f16c(const float*, uint16_t*, size_t, void (*)(const float*, uint16_t*, size_t)) {}
void bf16_to_f32_avx2(const uint16_t*, float*, size_t) {}
void f32_to_bf16_avx2(const float*, uint16_t*, size_t, void (*)(const float*, uint16_t*, size_t)) {}
bool built_with_f16c() { return false; }

}  // namespace minfer::convert

#endif
