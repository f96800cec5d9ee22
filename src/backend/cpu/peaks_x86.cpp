#include "backend/cpu/peaks_list.h"
#include "backend/cpu/x86_intrinsics.h"

namespace minfer::cpu {

namespace {

// Two units of latency 4 to 5 need ten chains; twelve leave registers for the operands everywhere.
constexpr int kChains = 12;

struct alignas(64) TileConfig {
    uint8_t palette = 1;
    uint8_t start_row = 0;
    uint8_t reserved[14] = {};
    uint16_t row_bytes[16] = {};
    uint8_t rows[16] = {};
};

}  // namespace

// Four tiles of sums, [16][16] int32 each, from two of 16 rows and two of 16 columns of 64 bytes: as a matmul has it,
// and enough to hide the latency.
__attribute__((target("amx-tile,amx-int8"))) uint64_t run_amx_int8(size_t n) {
    TileConfig config;
    for (int i = 0; i < 8; ++i) {
        config.row_bytes[i] = 64;
        config.rows[i] = 16;
    }
    alignas(64) int8_t values[16 * 64];
    for (int i = 0; i < 16 * 64; ++i) values[i] = int8_t(i);
    keep(&config);  // GCC 12 believes that the instructions below read eight bytes of these, and would not write the
                    // rest
    keep(values);
    _tile_loadconfig(&config);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_loadd(4, values, 64);
    _tile_loadd(5, values, 64);
    _tile_loadd(6, values, 64);
    _tile_loadd(7, values, 64);
    for (size_t i = 0; i < n; ++i) {
        _tile_dpbssd(0, 4, 6);
        _tile_dpbssd(1, 4, 7);
        _tile_dpbssd(2, 5, 6);
        _tile_dpbssd(3, 5, 7);
    }
    _tile_release();
    return uint64_t(n) * 4 * 16 * 16 * 64;
}

__attribute__((target("avx512f,avx512vnni"))) uint64_t run_avx512_vnni(size_t n) {
    __m512i acc[kChains];
    for (__m512i& a : acc) a = _mm512_setzero_si512();
    const __m512i u = _mm512_set1_epi8(3), s = _mm512_set1_epi8(-5);
    for (size_t i = 0; i < n; ++i) {
#pragma GCC unroll 12
        for (int j = 0; j < kChains; ++j) acc[j] = _mm512_dpbusd_epi32(acc[j], u, s);
    }
    keep(acc);
    return uint64_t(n) * kChains * 64;
}

__attribute__((target("avx2,avxvnni"))) uint64_t run_avx_vnni(size_t n) {
    __m256i acc[kChains];
    for (__m256i& a : acc) a = _mm256_setzero_si256();
    const __m256i u = _mm256_set1_epi8(3), s = _mm256_set1_epi8(-5);
    for (size_t i = 0; i < n; ++i) {
#pragma GCC unroll 12
        for (int j = 0; j < kChains; ++j) acc[j] = _mm256_dpbusd_avx_epi32(acc[j], u, s);
    }
    keep(acc);
    return uint64_t(n) * kChains * 32;
}

// Without VNNI: bytes to words, words to int32, and the sum. The empty assembly keeps the product, which is the same
// each time, from being taken out of the loop.
__attribute__((target("avx512f,avx512bw"))) uint64_t run_avx512bw(size_t n) {
    __m512i acc[kChains];
    for (__m512i& a : acc) a = _mm512_setzero_si512();
    __m512i u = _mm512_set1_epi8(3);
    const __m512i s = _mm512_set1_epi8(-5), ones = _mm512_set1_epi16(1);
    for (size_t i = 0; i < n; ++i) {
#pragma GCC unroll 12
        for (int j = 0; j < kChains; ++j) {
            asm volatile("" : "+v"(u));
            acc[j] = _mm512_add_epi32(acc[j], _mm512_madd_epi16(_mm512_maddubs_epi16(u, s), ones));
        }
    }
    keep(acc);
    return uint64_t(n) * kChains * 64;
}

__attribute__((target("avx2"))) uint64_t run_avx2(size_t n) {
    __m256i acc[kChains];
    for (__m256i& a : acc) a = _mm256_setzero_si256();
    __m256i u = _mm256_set1_epi8(3);
    const __m256i s = _mm256_set1_epi8(-5), ones = _mm256_set1_epi16(1);
    for (size_t i = 0; i < n; ++i) {
#pragma GCC unroll 12
        for (int j = 0; j < kChains; ++j) {
            asm volatile("" : "+x"(u));
            acc[j] = _mm256_add_epi32(acc[j], _mm256_madd_epi16(_mm256_maddubs_epi16(u, s), ones));
        }
    }
    keep(acc);
    return uint64_t(n) * kChains * 32;
}

__attribute__((target("avx512f"))) uint64_t run_avx512f(size_t n) {
    __m512 acc[kChains];
    for (__m512& a : acc) a = _mm512_setzero_ps();
    const __m512 x = _mm512_set1_ps(0.5f), y = _mm512_set1_ps(1.0f);
    for (size_t i = 0; i < n; ++i) {
#pragma GCC unroll 12
        for (int j = 0; j < kChains; ++j) acc[j] = _mm512_fmadd_ps(acc[j], x, y);
    }
    keep(acc);
    return uint64_t(n) * kChains * 16;
}

__attribute__((target("avx2,fma"))) uint64_t run_fma(size_t n) {
    __m256 acc[kChains];
    for (__m256& a : acc) a = _mm256_setzero_ps();
    const __m256 x = _mm256_set1_ps(0.5f), y = _mm256_set1_ps(1.0f);
    for (size_t i = 0; i < n; ++i) {
#pragma GCC unroll 12
        for (int j = 0; j < kChains; ++j) acc[j] = _mm256_fmadd_ps(acc[j], x, y);
    }
    keep(acc);
    return uint64_t(n) * kChains * 8;
}

}  // namespace minfer::cpu
