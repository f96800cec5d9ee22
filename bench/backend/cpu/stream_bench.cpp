// How near matmul of one token comes to the memory's bandwidth, and what further tokens cost: every weight type from
// compact panels, beside a plain read of as many bytes in the same seconds.
//   stream_bench [--threads N] [--set NAME] [--types q4_0,q6_K] [--rounds N] [--mib N]
// A row a type: GB/s of weights for one token and its share of the read, and how many times one sequence's rate a batch
// of 2, 4 and 8 reaches. Last, at which rate rows were repacked. Medians of the rounds, in which all take turns.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backend/cpu/matmul.h"
#include "backend/cpu/repacked_weights.h"
#include "base/cpu_features.h"

namespace minfer::cpu {
namespace {

constexpr size_t kIn = 1024;
constexpr gguf::TensorType kTypes[] = {gguf::TensorType::Q4_0, gguf::TensorType::Q4_1,   gguf::TensorType::Q5_0,
                                       gguf::TensorType::Q5_1, gguf::TensorType::Q8_0,   gguf::TensorType::Q2_K,
                                       gguf::TensorType::Q3_K, gguf::TensorType::Q4_K,   gguf::TensorType::Q5_K,
                                       gguf::TensorType::Q6_K, gguf::TensorType::IQ4_NL, gguf::TensorType::IQ4_XS,
                                       gguf::TensorType::F16,  gguf::TensorType::BF16,   gguf::TensorType::F32};
constexpr size_t kBatches[] = {1, 2, 4, 8};

struct Options {
    int n_threads = 2;
    std::string set, types;
    size_t n_round = 5, n_mib = 320;
};

double seconds(const std::function<void()>& f) {
    const auto start = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> x) {
    std::ranges::nth_element(x, x.begin() + std::ptrdiff_t(x.size() / 2));
    return x[x.size() / 2];
}

// Reads everything once, in one piece a thread, as wide as the compiler makes it for any machine.
uint64_t read_all(ThreadPool& pool, const std::byte* from, size_t bytes) {
    std::vector<uint64_t> sums(size_t(pool.size()) * 8);
    pool.parallel([&](int thread, int n) {
        const size_t n_line = bytes / 256;
        const std::byte* p = from + n_line * size_t(thread) / size_t(n) * 256;
        const std::byte* end = from + n_line * (size_t(thread) + 1) / size_t(n) * 256;
        uint64_t x[32] = {};
        for (; p < end; p += 256) {
            uint64_t line[32];
            std::memcpy(line, p, 256);
            for (int i = 0; i < 32; ++i) x[i] ^= line[i];
            __builtin_prefetch(p + 4096), __builtin_prefetch(p + 4160), __builtin_prefetch(p + 4224);
            __builtin_prefetch(p + 4288);
        }
        for (const uint64_t v : x) sums[size_t(thread) * 8] ^= v;
    });
    return sums[0];
}

void measure(const Options& o, const Kernels& kernels, gguf::TensorType type) {
    ThreadPool pool(o.n_threads);
    const size_t row_bytes = gguf::row_bytes(type, kIn);
    const size_t n_out = (o.n_mib << 20) / row_bytes / 16 * 16, bytes = n_out * row_bytes;
    Weights weights{.type = type, .n_in = kIn, .n_out = n_out, .row_bytes = row_bytes};
    Pages panels;
    double repack_seconds = 0;
    {
        Pages rows(bytes);
        // Bytes of small floats in every format: no infinity, no NaN and no subnormal to slow a kernel down.
        pool.parallel([&](int thread, int n) {
            const size_t begin = bytes * size_t(thread) / size_t(n), end = bytes * (size_t(thread) + 1) / size_t(n);
            std::memset(rows.data() + begin, 0x2b, end - begin);
        });
        weights.data = rows.data();
        Weights* const matrix = &weights;
        repack_seconds = seconds([&] { panels = repack(kernels, pool, {&matrix, 1}, {}); });
    }
    std::vector<float> x(8 * kIn), out(8 * n_out);
    for (size_t i = 0; i < x.size(); ++i) x[i] = float(i % 251) - 125.0f;
    Scratch scratch;
    uint64_t sink = 0;
    std::vector<double> read;
    std::map<size_t, std::vector<double>> multiplied;
    for (size_t round = 0; round < o.n_round + 1; ++round) {
        const double t = seconds([&] { sink += read_all(pool, panels.data(), bytes); });
        if (round > 0) read.push_back(t);
        for (const size_t n : kBatches) {
            const double s = seconds([&] {
                matmul(kernels, pool, weights, std::span(x).first(n * kIn), std::span(out).first(n * n_out), scratch);
            });
            if (round > 0) multiplied[n].push_back(s);
        }
    }
    const double one = median(multiplied[1]);
    fmt::print(
        "{:<12} {:<7} read {:5.1f} GB/s, one token {:5.1f} GB/s = {:3.0f}%; batch of 2 {:.2f}x, 4 {:.2f}x, 8 "
        "{:.2f}x; repacked at {:4.1f} GB/s{}\n",
        kernels.name, gguf::type_name(type), double(bytes) / median(read) * 1e-9, double(bytes) / one * 1e-9,
        100 * median(read) / one, 2 * one / median(multiplied[2]), 4 * one / median(multiplied[4]),
        8 * one / median(multiplied[8]), double(bytes) / repack_seconds * 1e-9, sink == 1 ? " " : "");
}

}  // namespace
}  // namespace minfer::cpu

int main(int argc, char** argv) {
    using namespace minfer;
    using namespace minfer::cpu;
    Options o;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i], value = argv[i + 1];
        if (name == "--threads") o.n_threads = std::atoi(value.c_str());
        if (name == "--set") o.set = value;
        if (name == "--types") o.types = fmt::format(",{},", value);
        if (name == "--rounds") o.n_round = size_t(std::atoi(value.c_str()));
        if (name == "--mib") o.n_mib = size_t(std::atoi(value.c_str()));
    }
    const Kernels& kernels = choose_kernels(detect_cpu_features(), o.set);
    for (const gguf::TensorType type : kTypes)
        if (o.types.empty() || o.types.find(fmt::format(",{},", gguf::type_name(type))) != std::string::npos)
            measure(o, kernels, type);
}
