#include "backend/cpu/peaks.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/peaks_list.h"

namespace minfer::cpu {

namespace {

using Clock = std::chrono::steady_clock;

// Long enough for a core to reach the frequency that it keeps under such a load, and for the clock to be exact.
constexpr double kRoundSeconds = 0.01;
constexpr int kRounds = 5;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

uint64_t run_scalar_integer(size_t n) {
    std::array<int32_t, 8> acc{};
    std::array<int8_t, 8> w{1, 2, 3, 4, 5, 6, 7, 8};
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < acc.size(); ++j) acc[j] += w[j] * int8_t(i);
    keep(&acc);
    return uint64_t(n) * acc.size();
}

uint64_t run_scalar_float(size_t n) {
    std::array<float, 8> acc{};
    const float w = 0.5f;
    for (size_t i = 0; i < n; ++i)
        for (float& a : acc) a = std::fma(a, w, 1.0f);
    keep(&acc);
    return uint64_t(n) * acc.size();
}

constexpr MultiplyAddUnit kIntegerUnits[] = {
#if defined(__x86_64__)
    {"amx_int8", {.amx_tile = true, .amx_int8 = true}, &run_amx_int8},
    {"avx512_vnni", {.avx512f = true, .avx512vnni = true}, &run_avx512_vnni},
    {"avx_vnni", {.avx2 = true, .avx_vnni = true}, &run_avx_vnni},
    {"avx512bw", {.avx512f = true, .avx512bw = true}, &run_avx512bw},
    {"avx2", {.avx2 = true}, &run_avx2},
#elif defined(__aarch64__)
    {"neon_i8mm", {.neon = true, .neon_i8mm = true}, &run_neon_i8mm},
    {"neon_dotprod", {.neon = true, .neon_dotprod = true}, &run_neon_dotprod},
#endif
    {"scalar", {}, &run_scalar_integer},
};

constexpr MultiplyAddUnit kFloatUnits[] = {
#if defined(__x86_64__)
    {"avx512f", {.avx512f = true}, &run_avx512f},
    {"fma", {.avx2 = true, .fma = true}, &run_fma},
#elif defined(__aarch64__)
    {"neon", {.neon = true}, &run_neon},
#endif
    {"scalar", {}, &run_scalar_float},
};

}  // namespace

void keep(const void* result) { asm volatile("" : : "r"(result) : "memory"); }

std::span<const MultiplyAddUnit> integer_units() { return kIntegerUnits; }
std::span<const MultiplyAddUnit> float_units() { return kFloatUnits; }

const MultiplyAddUnit& best_unit(std::span<const MultiplyAddUnit> units, const CpuFeatures& features) {
    for (const MultiplyAddUnit& unit : units)
        if (missing_features(unit.needs, features).empty()) return unit;
    return units.back();
}

double multiply_adds_per_second(const MultiplyAddUnit& unit, ThreadPool& pool) {
    constexpr size_t kRoundsAtATime = 10'000;  // some tens of microseconds between two looks at the clock
    double best = 0;
    std::vector<double> rates(size_t(pool.size()));
    for (int round = 0; round < kRounds; ++round) {
        std::atomic<int> arrived = 0;
        pool.parallel([&](int thread, int n_threads) {
            // All together: a thread that ran before another has woken would have a turbo's frequency to itself.
            for (++arrived; arrived < n_threads;) {
            }
            const Clock::time_point start = Clock::now();
            uint64_t done = 0;
            double seconds = 0;
            do {
                done += unit.run(kRoundsAtATime);
                seconds = seconds_since(start);
            } while (seconds < kRoundSeconds);
            rates[size_t(thread)] = double(done) / seconds;
        });
        double sum = 0;
        for (const double rate : rates) sum += rate;
        best = std::max(best, sum);
    }
    return best;
}

ReadProbe::ReadProbe(size_t n_bytes, ThreadPool& pool)
    : pool_(pool), pages_(n_bytes), words_(reinterpret_cast<uint64_t*>(pages_.data()), n_bytes / sizeof(uint64_t)) {
    pool_.parallel([&](int thread, int n) {  // written by the thread that reads it, so that its memory is the nearest
        const std::span<uint64_t> words = share(thread, n);
        for (size_t i = 0; i < words.size(); ++i) words[i] = i;
    });
}

std::span<uint64_t> ReadProbe::share(int thread, int n) const {
    const size_t begin = words_.size() * size_t(thread) / size_t(n),
                 end = words_.size() * size_t(thread + 1) / size_t(n);
    return words_.subspan(begin, end - begin);
}

double ReadProbe::bytes_per_second() { return std::max(one_pass(), one_pass()); }

double ReadProbe::one_pass() {
    const Clock::time_point start = Clock::now();
    pool_.parallel([&](int thread, int n) {
        const std::span<const uint64_t> words = share(thread, n);
        std::array<uint64_t, 16> sums{};
        size_t i = 0;
        for (; i + sums.size() <= words.size(); i += sums.size())
            for (size_t j = 0; j < sums.size(); ++j) sums[j] += words[i + j];
        for (; i < words.size(); ++i) sums[0] += words[i];
        keep(&sums);
    });
    return double(words_.size_bytes()) / seconds_since(start);
}

}  // namespace minfer::cpu
