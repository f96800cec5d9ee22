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

void f16_to_f32_f16c(const void* in, void* out, size_t n, OneByOne one_by_one) {
    const char* from = static_cast<const char*>(in);
    char* to = static_cast<char*>(out);
    size_t i = 0;
    for (; i + 8 <= n; i += 8, from += 16, to += 32) {
        const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
        const __m256i magnitude = _mm256_cvtepu16_epi32(_mm_and_si128(half, _mm_set1_epi16(0x7fff)));
        if (any_above(magnitude, 0x7c00))
            one_by_one(from, to, 8);
        else
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_castps_si256(_mm256_cvtph_ps(half)));
    }
    one_by_one(from, to, n - i);
}

void f32_to_f16_f16c(const void* in, void* out, size_t n, OneByOne one_by_one) {
    const char* from = static_cast<const char*>(in);
    char* to = static_cast<char*>(out);
    size_t i = 0;
    for (; i + 8 <= n; i += 8, from += 32, to += 16) {
        const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
        const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
        if (any_above(magnitude, 0x7f800000))
            one_by_one(from, to, 8);
        else
            _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                             _mm256_cvtps_ph(_mm256_castsi256_ps(bits), _MM_FROUND_TO_NEAREST_INT));
    }
    one_by_one(from, to, n - i);
}

void bf16_to_f32_avx2(const void* in, void* out, size_t n, OneByOne one_by_one) {
    const char* from = static_cast<const char*>(in);
    char* to = static_cast<char*>(out);
    size_t i = 0;
    for (; i + 8 <= n; i += 8, from += 16, to += 32) {
        const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_slli_epi32(wide, 16));
    }
    one_by_one(from, to, n - i);
}

void f32_to_bf16_avx2(const void* in, void* out, size_t n, OneByOne one_by_one) {
    const __m256i below_half = _mm256_set1_epi32(0x7fff), one = _mm256_set1_epi32(1);
    const char* from = static_cast<const char*>(in);
    char* to = static_cast<char*>(out);
    size_t i = 0;
    for (; i + 16 <= n; i += 16, from += 64, to += 32) {
        __m256i rounded[2];
        bool nan = false;
        for (int k = 0; k < 2; ++k) {
            const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from) + k);
            nan |= any_above(_mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff)), 0x7f800000);
            const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
            rounded[k] = _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(bits, below_half), odd), 16);
        }
        if (nan) {
            one_by_one(from, to, 16);
            continue;
        }
        // packus works on 128-bit halves; the permutation puts their quarters in order again.
        const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(rounded[0], rounded[1]), 0xd8);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), packed);
    }
    one_by_one(from, to, n - i);
}

bool built_with_f16c() { return true; }

}  // namespace minfer::convert

#else

namespace minfer::convert {

void f16_to_f32_f16c(const void*, void*, size_t, OneByOne) {}
void f32_to_f16_f16c(const void*, void*, size_t, OneByOne) {}
void bf16_to_f32_avx2(const void*, void*, size_t, OneByOne) {}
void f32_to_bf16_avx2(const void*, void*, size_t, OneByOne) {}
bool built_with_f16c() { return false; }

}  // namespace minfer::convert

#endif
