// The encoders and row conversions of every set, on one thread, from floats in the second-level cache:
//   encode_bench --benchmark_filter='avx512/q3_K'
// items_per_second counts weights. Names are SET/TYPE and SET/TYPE/importance.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cmath>
#include <random>
#include <vector>

#include "quant/encode.h"

namespace minfer::quant {
namespace {

using gguf::TensorType;

constexpr int64_t kRows = 16, kRow = 2048;
constexpr TensorType kTypes[] = {TensorType::F16,    TensorType::BF16,  TensorType::Q4_0, TensorType::Q4_1,
                                 TensorType::Q5_0,   TensorType::Q5_1,  TensorType::Q8_0, TensorType::Q2_K,
                                 TensorType::Q3_K,   TensorType::Q4_K,  TensorType::Q5_K, TensorType::Q6_K,
                                 TensorType::IQ4_NL, TensorType::IQ4_XS};

void encode(benchmark::State& state, const EncoderSet& set, TensorType type, bool weighted) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0.0f, 0.02f);
    std::vector<float> values(size_t(kRows * kRow)), importance(weighted ? size_t(kRow) : 0);
    for (float& x : values) x = normal(random);
    for (float& x : importance) x = std::fabs(normal(random));
    std::vector<std::byte> out(size_t(kRows) * gguf::row_bytes(type, kRow));
    for (auto _ : state) {
        encode_rows(type, values, kRows, kRow, out, {.importance = importance, .set = &set});
        benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(int64_t(state.iterations()) * kRows * kRow);
}

// The way in of an f16 source.
void widen(benchmark::State& state, const EncoderSet& set) {
    std::vector<uint8_t> halves(size_t(2 * kRows * kRow), 0x2b);
    std::vector<float> values(size_t(kRows * kRow));
    bool finite = true;
    for (auto _ : state) {
        set.functions->widen_f16(halves.data(), values.data(), kRows * kRow);
        finite &= set.functions->all_finite(values.data(), kRows * kRow);
        benchmark::DoNotOptimize(finite);
    }
    state.SetItemsProcessed(int64_t(state.iterations()) * kRows * kRow);
}

}  // namespace
}  // namespace minfer::quant

int main(int argc, char** argv) {
    using namespace minfer;
    using namespace minfer::quant;
    benchmark::Initialize(&argc, argv);
    for (const EncoderSet* set : all_encoder_sets()) {
        if (!set->runs_on(detect_cpu_features())) continue;
        benchmark::RegisterBenchmark(fmt::format("{}/widen f16", set->name).c_str(), widen, std::cref(*set));
        for (const gguf::TensorType type : kTypes)
            for (const bool weighted : {false, true}) {
                if (weighted && (gguf::block_size(type) == 1 || type == gguf::TensorType::Q8_0)) continue;
                benchmark::RegisterBenchmark(
                    fmt::format("{}/{}{}", set->name, gguf::type_name(type), weighted ? "/importance" : "").c_str(),
                    encode, std::cref(*set), type, weighted)
                    ->Unit(benchmark::kMicrosecond);
            }
    }
    benchmark::RunSpecifiedBenchmarks();
}
