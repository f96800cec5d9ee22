// The loops run, on every unit that this CPU has, and their rates are of an order that a machine can have.
#include "backend/cpu/peaks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "backend/cpu/kernels.h"

namespace minfer::cpu {
namespace {

TEST(Peaks, EveryUnitOfThisCpuCountsWhatItDoes) {
    size_t n_run = 0;
    for (const auto& units : {integer_units(), float_units()})
        for (const MultiplyAddUnit& unit : units) {
            SCOPED_TRACE(unit.name);
            if (!missing_features(unit.needs, detect_cpu_features()).empty()) continue;
            ++n_run;
            EXPECT_EQ(unit.run(0), 0u);
            const uint64_t one = unit.run(1);
            EXPECT_GT(one, 0u);
            EXPECT_EQ(unit.run(1000), 1000 * one);
        }
    EXPECT_GE(n_run, 2u) << "the scalar units need nothing";
}

// No core does more than two 1024-byte tile rows, or a few vectors, a cycle: a loop that the compiler took apart would.
TEST(Peaks, RatesAreThoseOfAMachine) {
    ThreadPool pool(1);
    for (const auto& units : {integer_units(), float_units()})
        for (const MultiplyAddUnit& unit : units) {
            SCOPED_TRACE(unit.name);
            if (!missing_features(unit.needs, detect_cpu_features()).empty()) continue;
            const double rate = multiply_adds_per_second(unit, pool);
            const double a_cycle = unit.name == "amx_int8" ? 2048 : unit.name == "scalar" ? 64 : 512;
            EXPECT_GT(rate, 1e6);
            EXPECT_LT(rate, a_cycle * 8e9);
        }
}

TEST(Peaks, TheBestUnitIsTheFirstThatTheCpuHas) {
    EXPECT_EQ(best_unit(integer_units(), {}).name, "scalar");
    EXPECT_EQ(best_unit(float_units(), {}).name, "scalar");
#if defined(__x86_64__)
    CpuFeatures f{.avx2 = true, .fma = true};
    EXPECT_EQ(best_unit(integer_units(), f).name, "avx2");
    EXPECT_EQ(best_unit(float_units(), f).name, "fma");
    f.avx512f = f.avx512bw = f.avx512vnni = true;
    EXPECT_EQ(best_unit(integer_units(), f).name, "avx512_vnni");
    EXPECT_EQ(best_unit(float_units(), f).name, "avx512f");
    f.amx_tile = f.amx_int8 = true;
    EXPECT_EQ(best_unit(integer_units(), f).name, "amx_int8");
#endif
}

TEST(ReadProbe, ReadsAllOfItsMemory) {
    ThreadPool pool(2);
    ReadProbe probe(8 << 20, pool);
    const auto start = std::chrono::steady_clock::now();
    const double rate = probe.bytes_per_second();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    EXPECT_GE(rate * seconds, 8e6) << "a pass takes no longer than the call";
    EXPECT_LT(rate, 1e13);
}

}  // namespace
}  // namespace minfer::cpu
