// Matmul of every weight type and set of kernels, on one thread: one token (decode, whose floor is the memory's
// bandwidth) and many (prefill, whose floor is the peak of the multiply-add units).
//   matmul_bench --benchmark_filter='avx512/Q4_K/1$'
// MAC/s counts multiply-adds, B/s the bytes of weights. The matrix is larger than a core's share of the caches.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <vector>

#include "backend/cpu/matmul.h"
#include "base/half.h"

namespace minfer::cpu {
namespace {

constexpr size_t kIn = 2048, kOut = 16384;

constexpr gguf::TensorType kTypes[] = {gguf::TensorType::F32,  gguf::TensorType::F16,    gguf::TensorType::BF16,
                                       gguf::TensorType::Q4_0, gguf::TensorType::Q4_1,   gguf::TensorType::Q5_0,
                                       gguf::TensorType::Q5_1, gguf::TensorType::Q8_0,   gguf::TensorType::Q2_K,
                                       gguf::TensorType::Q3_K, gguf::TensorType::Q4_K,   gguf::TensorType::Q5_K,
                                       gguf::TensorType::Q6_K, gguf::TensorType::IQ4_NL, gguf::TensorType::IQ4_XS};

void run(benchmark::State& state, const Kernels& kernels, gguf::TensorType type, size_t n_token) {
    const size_t row_bytes = gguf::row_bytes(type, kIn);
    // Bytes of small floats in every format: no infinity, no NaN and no subnormal to slow a kernel down.
    const std::vector<std::byte> rows(kOut * row_bytes, std::byte(0x2b));
    std::vector<float> x(n_token * kIn), out(n_token * kOut);
    for (size_t i = 0; i < x.size(); ++i) x[i] = float(i % 251) - 125.0f;
    const Weights weights{.type = type, .n_in = kIn, .n_out = kOut, .row_bytes = row_bytes, .data = rows.data()};
    ThreadPool pool(1);
    Scratch scratch;
    for (auto _ : state) matmul(kernels, pool, weights, x, out, scratch);
    const double calls = double(state.iterations());
    state.counters["MAC/s"] = benchmark::Counter(calls * double(n_token * kIn * kOut), benchmark::Counter::kIsRate);
    state.counters["B/s"] = benchmark::Counter(calls * double(rows.size()), benchmark::Counter::kIsRate);
}

}  // namespace
}  // namespace minfer::cpu

int main(int argc, char** argv) {
    using namespace minfer;
    using namespace minfer::cpu;
    benchmark::Initialize(&argc, argv);
    for (const Kernels* kernels : all_kernels()) {
        if (!missing_features(*kernels, detect_cpu_features()).empty()) continue;
        for (const gguf::TensorType type : kTypes)
            for (const size_t n_token : {size_t(1), size_t(64)})
                benchmark::RegisterBenchmark(
                    fmt::format("{}/{}/{}", kernels->name, gguf::type_name(type), n_token).c_str(), run,
                    std::cref(*kernels), type, n_token)
                    ->Unit(benchmark::kMillisecond);
    }
    benchmark::RunSpecifiedBenchmarks();
}
