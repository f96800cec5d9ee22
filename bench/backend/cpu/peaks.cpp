#include "peaks.h"

#include <ctime>

#include "base/cpu_features.h"

namespace minfer::cpu {

namespace {

double cpu_seconds() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

// The best of several runs of loop(n), each of n * `each` multiply-adds.
template <class Loop>
double best_rate(double each, Loop loop) {
    constexpr long kTimes = 2'000'000;
    double best = 0;
    for (int i = 0; i < 5; ++i) {
        const double begin = cpu_seconds();
        loop(kTimes);
        const double rate = double(kTimes) * each / (cpu_seconds() - begin);
        if (rate > best) best = rate;
    }
    return best;
}

}  // namespace

#if defined(__x86_64__)

// Ten instructions that do not wait for each other. Register names, for the compiler is not told of these sets.
#define MINFER_TEN(op, r)                                                                                             \
    op " %%" r "15,%%" r "14,%%" r "0\n" op " %%" r "15,%%" r "14,%%" r "1\n" op " %%" r "15,%%" r "14,%%" r "2\n" op \
       " %%" r "15,%%" r "14,%%" r "3\n" op " %%" r "15,%%" r "14,%%" r "4\n" op " %%" r "15,%%" r "14,%%" r "5\n" op \
       " %%" r "15,%%" r "14,%%" r "6\n" op " %%" r "15,%%" r "14,%%" r "7\n" op " %%" r "15,%%" r "14,%%" r "8\n" op \
       " %%" r "15,%%" r "14,%%" r "9\n"
#define MINFER_CLOBBERED                                                                                       \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", \
        "xmm13", "xmm14", "xmm15"

Peaks measure_peaks() {
    const CpuFeatures cpu = detect_cpu_features();
    Peaks peaks;
    const auto vectors = [](auto run) {
        asm volatile(
            "vpxor %%xmm14,%%xmm14,%%xmm14\nvpxor %%xmm15,%%xmm15,%%xmm15\n"
            "vpxor %%xmm0,%%xmm0,%%xmm0\nvpxor %%xmm1,%%xmm1,%%xmm1\nvpxor %%xmm2,%%xmm2,%%xmm2\n"
            "vpxor %%xmm3,%%xmm3,%%xmm3\nvpxor %%xmm4,%%xmm4,%%xmm4\nvpxor %%xmm5,%%xmm5,%%xmm5\n"
            "vpxor %%xmm6,%%xmm6,%%xmm6\nvpxor %%xmm7,%%xmm7,%%xmm7\nvpxor %%xmm8,%%xmm8,%%xmm8\n"
            "vpxor %%xmm9,%%xmm9,%%xmm9\n" ::
                : MINFER_CLOBBERED);
        return run();
    };
    if (cpu.avx512f)
        peaks.fma = vectors([] {
            return best_rate(160, [](long n) {
                for (; n > 0; --n) asm volatile(MINFER_TEN("vfmadd231ps", "zmm")::: MINFER_CLOBBERED);
            });
        });
    else if (cpu.fma)
        peaks.fma = vectors([] {
            return best_rate(80, [](long n) {
                for (; n > 0; --n) asm volatile(MINFER_TEN("vfmadd231ps", "ymm")::: MINFER_CLOBBERED);
            });
        });
    if (cpu.avx512vnni)
        peaks.vnni = vectors([] {
            return best_rate(640, [](long n) {
                for (; n > 0; --n) asm volatile(MINFER_TEN("vpdpbusd", "zmm")::: MINFER_CLOBBERED);
            });
        });
    if (cpu.amx_int8) {
        struct {
            unsigned char palette, start, reserved[14];
            unsigned short row_bytes[16];
            unsigned char rows[16];
        } config = {};
        config.palette = 1;
        for (int i = 0; i < 8; ++i) config.row_bytes[i] = 64, config.rows[i] = 16;
        asm volatile(
            "ldtilecfg %0\n tilezero %%tmm0\n tilezero %%tmm1\n tilezero %%tmm2\n tilezero %%tmm3\n"
            "tilezero %%tmm4\n tilezero %%tmm5\n tilezero %%tmm6\n tilezero %%tmm7\n" ::"m"(config));
        peaks.amx = best_rate(4 * 16 * 16 * 64,
                              [](long n) {
                                  for (n /= 4; n > 0; --n)
                                      asm volatile(
                                          "tdpbssd %%tmm6,%%tmm4,%%tmm0\n tdpbssd %%tmm7,%%tmm4,%%tmm1\n"
                                          "tdpbssd %%tmm6,%%tmm5,%%tmm2\n tdpbssd %%tmm7,%%tmm5,%%tmm3\n" ::);
                              }) /
                    4;
        asm volatile("tilerelease");
    }
    return peaks;
}

#else

Peaks measure_peaks() { return {}; }

#endif

}  // namespace minfer::cpu
