// Matmul of a prompt, in G multiply-adds a second and as a share of the peak of the unit that does it, for every weight
// type and set of kernels.
//   prompt_bench [SET [TYPE [TOKENS [IN OUT [THREADS]]]]]     "all" stands for every set or type
// With one thread the time is the thread's own, so that other programs disturb it little.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "backend/cpu/matmul.h"
#include "peaks.h"

namespace minfer::cpu {
namespace {

constexpr gguf::TensorType kTypes[] = {gguf::TensorType::F32,  gguf::TensorType::F16,    gguf::TensorType::BF16,
                                       gguf::TensorType::Q4_0, gguf::TensorType::Q4_1,   gguf::TensorType::Q5_0,
                                       gguf::TensorType::Q5_1, gguf::TensorType::Q8_0,   gguf::TensorType::Q2_K,
                                       gguf::TensorType::Q3_K, gguf::TensorType::Q4_K,   gguf::TensorType::Q5_K,
                                       gguf::TensorType::Q6_K, gguf::TensorType::IQ4_NL, gguf::TensorType::IQ4_XS};

double seconds(bool own) {
    if (!own) return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

// The best rate of some calls, and that of unpacking alone: the time of few tokens more costs no more unpacking.
double rate(const Kernels& kernels, gguf::TensorType type, size_t n_token, size_t n_in, size_t n_out, int n_threads) {
    const size_t row_bytes = gguf::row_bytes(type, n_in);
    // Bytes of small floats in every format: no infinity, no NaN and no subnormal to slow a kernel down.
    const std::vector<std::byte> rows(n_out * row_bytes, std::byte(0x2b));
    std::vector<float> x(n_token * n_in), out(n_token * n_out);
    for (size_t i = 0; i < x.size(); ++i) x[i] = float(i % 251) - 125.0f;
    const Weights weights{.type = type, .n_in = n_in, .n_out = n_out, .row_bytes = row_bytes, .data = rows.data()};
    ThreadPool pool(n_threads);
    Scratch scratch;
    double best = 0;
    for (int i = 0; i < 5; ++i) {
        const double begin = seconds(n_threads == 1);
        matmul(kernels, pool, weights, x, out, scratch);
        best = std::max(best, double(n_token * n_in * n_out) / (seconds(n_threads == 1) - begin));
    }
    return best;
}

}  // namespace
}  // namespace minfer::cpu

int main(int argc, char** argv) {
    using namespace minfer;
    using namespace minfer::cpu;
    const auto word = [&](int i) { return argc > i ? std::string(argv[i]) : std::string("all"); };
    const auto number = [&](int i, size_t otherwise) {
        return argc > i ? size_t(std::strtoull(argv[i], nullptr, 10)) : otherwise;
    };
    const size_t n_token = number(3, 512), n_in = number(4, 1024), n_out = number(5, 2048);
    const int n_threads = int(number(6, 1));
    const Peaks peaks = measure_peaks();
    fmt::print("peaks of one core, G multiply-adds/s: FMA {:.0f}, VNNI {:.0f}, AMX {:.0f}\n", peaks.fma / 1e9,
               peaks.vnni / 1e9, peaks.amx / 1e9);
    fmt::print("{} tokens, weights [{}][{}], {} thread(s)\n", n_token, n_out, n_in, n_threads);
    for (const Kernels* kernels : all_kernels()) {
        if (!missing_features(*kernels, detect_cpu_features()).empty()) continue;
        if (word(1) == "all" ? kernels->name == "scalar" : kernels->name != word(1)) continue;
        for (const gguf::TensorType type : kTypes) {
            if (word(2) != "all" && gguf::type_name(type) != word(2)) continue;
            const double r = rate(*kernels, type, n_token, n_in, n_out, n_threads);
            const bool integers = gguf::block_size(type) > 1;
            const double peak = !integers                       ? peaks.fma
                                : kernels->name == "amx"        ? peaks.amx
                                : kernels->name == "avx512vnni" ? peaks.vnni
                                                                : 0;
            fmt::print("{:<10} {:<6} {:>6.0f} G/s", kernels->name, gguf::type_name(type), r / 1e9);
            if (peak > 0) fmt::print("  {:>3.0f}% of the peak", 100 * r / (peak * n_threads));
            fmt::print("\n");
        }
    }
}
