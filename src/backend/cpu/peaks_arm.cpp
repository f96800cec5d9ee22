#include <arm_neon.h>

#include "backend/cpu/peaks_list.h"

namespace minfer::cpu {

namespace {

// Four units of latency 4, on the widest cores.
constexpr int kChains = 16;

}  // namespace

// Two rows by two columns of 8 bytes.
__attribute__((target("arch=armv8.2-a+i8mm"))) uint64_t run_neon_i8mm(size_t n) {
    int32x4_t acc[kChains];
    for (int32x4_t& a : acc) a = vdupq_n_s32(0);
    const int8x16_t x = vdupq_n_s8(3), y = vdupq_n_s8(-5);
    for (size_t i = 0; i < n; ++i) {
#pragma GCC unroll 16
        for (int j = 0; j < kChains; ++j) acc[j] = vmmlaq_s32(acc[j], x, y);
    }
    keep(acc);
    return uint64_t(n) * kChains * 32;
}

__attribute__((target("arch=armv8.2-a+dotprod"))) uint64_t run_neon_dotprod(size_t n) {
    int32x4_t acc[kChains];
    for (int32x4_t& a : acc) a = vdupq_n_s32(0);
    const int8x16_t x = vdupq_n_s8(3), y = vdupq_n_s8(-5);
    for (size_t i = 0; i < n; ++i) {
#pragma GCC unroll 16
        for (int j = 0; j < kChains; ++j) acc[j] = vdotq_s32(acc[j], x, y);
    }
    keep(acc);
    return uint64_t(n) * kChains * 16;
}

uint64_t run_neon(size_t n) {
    float32x4_t acc[kChains];
    for (float32x4_t& a : acc) a = vdupq_n_f32(0);
    const float32x4_t x = vdupq_n_f32(0.5f), y = vdupq_n_f32(1.0f);
    for (size_t i = 0; i < n; ++i) {
#pragma GCC unroll 16
        for (int j = 0; j < kChains; ++j) acc[j] = vfmaq_f32(y, acc[j], x);
    }
    keep(acc);
    return uint64_t(n) * kChains * 4;
}

}  // namespace minfer::cpu
