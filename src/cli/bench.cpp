// minfer bench: how fast a model runs, beside what the machine allows.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "backend/cpu/peaks.h"
#include "base/cpu_features.h"
#include "base/error.h"
#include "base/process_memory.h"
#include "cli/bench_output.h"
#include "cli/commands.h"
#include "cli/engine_options.h"
#include "cli/model_argument.h"
#include "cli/parse.h"
#include "engine/benchmark.h"

namespace minfer::cli {
namespace {

using engine::BenchmarkCase;
using Clock = std::chrono::steady_clock;

struct Arguments {
    std::string model;
    std::vector<size_t> prompts = {512}, generations = {128}, depths = {0}, sequences = {1}, repeats = {5};
    std::vector<int> threads;
    BenchOutput::Format format = BenchOutput::Format::Markdown;
    engine::EngineOptions engine;
};

void declare(CLI::App& app, Arguments& a) {
    const auto list = [&](const char* name, auto& values, const char* help, auto low, auto high) {
        app.add_option(name, values, help)
            ->delimiter(',')
            ->allow_extra_args(false)
            ->check(CLI::Range(low, high))
            ->type_name("N,N,...");
    };
    constexpr size_t kMost = size_t(1) << 24;
    app.add_option("MODEL", a.model, "A GGUF file or a cached name")->required();
    list("-p,--n-prompt", a.prompts, "Lengths of the prompts to time; 0: none; default: 512", size_t(0), kMost);
    list("-n,--n-gen", a.generations, "Tokens to generate one by one; 0: none; default: 128", size_t(0), kMost);
    list("-d,--depth", a.depths, "Tokens that the context holds before; default: 0", size_t(0), kMost);
    list("-s,--sequences", a.sequences, "Sequences side by side; default: 1", size_t(1), size_t(4096));
    list("-r,--repeats", a.repeats, "Times that each is done, for the median; default: 5", size_t(1), size_t(10'000));
    list("-t,--threads", a.threads, "Threads; default: one for each CPU that minfer may run on", 1,
         ThreadPool::kMaxThreads);
    app.add_option("-o,--output", a.format, "How to print the results: md, json or csv; default: md")
        ->transform(CLI::Transformer(std::map<std::string, BenchOutput::Format>{{"md", BenchOutput::Format::Markdown},
                                                                                {"json", BenchOutput::Format::Json},
                                                                                {"csv", BenchOutput::Format::Csv}}))
        ->type_name("FORMAT");
    add_pass_options(app, a.engine);
}

std::vector<BenchmarkCase> make_cases(const Arguments& a) {
    std::vector<BenchmarkCase> cases;
    for (const size_t depth : a.depths)
        for (const size_t n_sequence : a.sequences) {
            for (const size_t n : a.prompts)
                if (n != 0) cases.push_back({.n_prompt = n, .depth = depth, .n_sequence = n_sequence});
            for (const size_t n : a.generations)
                if (n != 0) cases.push_back({.n_gen = n, .depth = depth, .n_sequence = n_sequence});
        }
    if (cases.empty()) throw UsageError("nothing to time: -p and -n are both 0");
    return cases;
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    const size_t n = values.size();
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

// The peaks of the units that the kernels in use have at their disposal.
struct Peaks {
    explicit Peaks(ThreadPool& pool) {
        const CpuFeatures features = usable_cpu_features();
        const cpu::MultiplyAddUnit& i = cpu::best_unit(cpu::integer_units(), features);
        const cpu::MultiplyAddUnit& f = cpu::best_unit(cpu::float_units(), features);
        integer_unit = i.name;
        float_unit = f.name;
        integer = cpu::multiply_adds_per_second(i, pool);
        floating = cpu::multiply_adds_per_second(f, pool);
    }
    std::string integer_unit, float_unit;
    double integer, floating;  // multiply-adds a second
};

// An engine with some number of threads, and all cases on it.
class Session {
  public:
    Session(const Arguments& a, const std::vector<BenchmarkCase>& cases, int n_threads) : a_(a), cases_(cases) {
        engine::EngineOptions options = a.engine;
        options.n_threads = n_threads;
        for (const BenchmarkCase& c : cases) {
            options.n_ctx = std::max(options.n_ctx, c.n_cell());
            options.n_sequence = std::max(options.n_sequence, c.n_sequence);
        }
        reset_peak_resident_bytes();
        const Clock::time_point start = Clock::now();
        engine_.emplace(model_file(a.model), options);
        load_seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
        engine_->finish_repacking();
    }

    void run(BenchOutput& output) {
        engine::Benchmark benchmark(*engine_);
        // Every case once, for the hash, and to warm up; and for the peak of the memory, before the probe adds its own.
        std::vector<uint64_t> hashes;
        for (const BenchmarkCase& c : cases_) hashes.push_back(benchmark.hash(c));
        const std::optional<uint64_t> peak_memory = peak_resident_bytes();
        const Peaks peaks(engine_->threads());
        const uint64_t token_bytes = benchmark.work({.n_gen = 1}).weight_bytes;
        cpu::ReadProbe probe(std::clamp<uint64_t>(token_bytes, 8 << 20, 1 << 30), engine_->threads());
        for (size_t i = 0; i < cases_.size(); ++i)
            for (const size_t n_repeat : a_.repeats) {
                BenchResult result = measure(benchmark, cases_[i], n_repeat, peaks, probe);
                result["load_seconds"] = load_seconds_;
                result["peak_memory_bytes"] = peak_memory ? BenchResult(*peak_memory) : BenchResult();
                result["logits_hash"] = fmt::format("{:016x}", hashes[i]);
                output.add(result);
            }
    }

  private:
    BenchResult measure(engine::Benchmark& benchmark, const BenchmarkCase& c, size_t n_repeat, const Peaks& peaks,
                        cpu::ReadProbe& probe) {
        BenchmarkCase step = c;  // what brings the weights back to the caches, as far as they fit, after the probe
        step.n_prompt = std::min<size_t>(c.n_prompt, 1);
        step.n_gen = std::min<size_t>(c.n_gen, 1);
        std::vector<double> rates, bandwidths;
        for (size_t r = 0; r < n_repeat; ++r) {
            bandwidths.push_back(probe.bytes_per_second());
            benchmark.run(step);
            rates.push_back(double(c.n_token()) / benchmark.run(c));
        }
        const engine::Work work = benchmark.work(c);
        const double rate = median(rates), bandwidth = median(bandwidths), n_token = double(c.n_token());
        const double peak_seconds =
            double(work.integer_multiply_adds) / peaks.integer + double(work.float_multiply_adds) / peaks.floating;
        return {{"model", std::filesystem::path(engine_->file().path()).filename().string()},
                {"architecture", engine_->model().hyperparameters().architecture},
                {"file_bytes", engine_->file().file_size()},
                {"kernels", engine_->kernels_name()},
                {"threads", engine_->threads().size()},
                {"n_prompt", c.n_prompt},
                {"n_gen", c.n_gen},
                {"depth", c.depth},
                {"n_sequences", c.n_sequence},
                {"n_batch", engine_->n_batch()},
                {"cache_type", kv::type_name(engine_->scheduler().layout().type)},
                {"repeats", n_repeat},
                {"tokens_per_second", rate},
                {"tokens_per_second_min", std::ranges::min(rates)},
                {"tokens_per_second_max", std::ranges::max(rates)},
                {"samples", rates},
                {"bytes_per_token", double(work.bytes()) / n_token},
                {"read_bandwidth", bandwidth},
                {"bandwidth_share", double(work.bytes()) / n_token * rate / bandwidth},
                {"multiply_adds_per_token", double(work.multiply_adds()) / n_token},
                {"integer_unit", peaks.integer_unit},
                {"integer_peak", peaks.integer},
                {"float_unit", peaks.float_unit},
                {"float_peak", peaks.floating},
                {"peak_share", peak_seconds / n_token * rate}};
    }

    const Arguments& a_;
    const std::vector<BenchmarkCase>& cases_;
    std::optional<engine::Engine> engine_;
    double load_seconds_ = 0;
};

int run(const std::vector<std::string>& args) {
    CLI::App app(
        "Times prompts and generation, and holds them against what this machine can read and multiply in the same "
        "minute. Each list is a comma list; all are tried with all.",
        "minfer bench");
    Arguments a;
    declare(app, a);
    if (const std::optional<int> status = parse(app, args)) return *status;
    if (a.threads.empty()) a.threads.push_back(std::min(usable_cpus(), ThreadPool::kMaxThreads));
    const std::vector<BenchmarkCase> cases = make_cases(a);
    BenchOutput output(a.format);
    for (const int n_threads : a.threads) Session(a, cases, n_threads).run(output);
    output.finish();
    return 0;
}

}  // namespace

const Command kBenchCommand = {"bench", "time a model beside what the machine allows", run};

}  // namespace minfer::cli
