#include "cli/bench_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <vector>

#include "base/byte_size.h"

namespace minfer::cli {
namespace {

// A field of CSV (RFC 4180): in quotes where it holds what separates fields.
std::string csv_field(const BenchResult& value) {
    if (value.is_array()) {
        std::vector<std::string> parts;
        for (const BenchResult& v : value) parts.push_back(v.dump());
        return fmt::format("{}", fmt::join(parts, ";"));
    }
    if (!value.is_string()) return value.dump();
    const std::string& text = value.get_ref<const std::string&>();
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + "\"";
}

}  // namespace

std::string bench_test_name(const BenchResult& r) {
    const size_t n_prompt = r["n_prompt"], n_gen = r["n_gen"], depth = r["depth"], n_sequences = r["n_sequences"];
    std::string name = n_prompt != 0 ? fmt::format("prompt {}", n_prompt) : fmt::format("gen {}", n_gen);
    if (n_sequences > 1) name = fmt::format("{} x {}", n_sequences, name);
    if (depth > 0) name += fmt::format(" at {}", depth);
    return name;
}

void BenchOutput::add(const BenchResult& result) {
    if (format_ == Format::Markdown) print_markdown(result);
    if (format_ == Format::Csv) print_csv(result);
    std::fflush(stdout);
    all_.push_back(result);
}

void BenchOutput::finish() {
    if (format_ == Format::Json) fmt::print("{}\n", all_.dump(2));
}

void BenchOutput::print_markdown(const BenchResult& r) {
    const bool is_first = all_.empty();
    if (is_first)
        fmt::print("{}: {}, {}; kernels {}\n\n", r["model"].get<std::string>(), r["architecture"].get<std::string>(),
                   format_byte_size(r["file_bytes"]), r["kernels"].get<std::string>());
    const auto line = [](const auto&... cells) {
        fmt::print("| {:>7} | {:<24} | {:>9} | {:>7} | {:>8} | {:>11} | {:>9} | {:>9} | {:>10} | {:>6} | {:>9} |\n",
                   cells...);
    };
    if (is_first) {
        line("threads", "test", "tokens/s", "spread", "MB/token", "of GB/s", "bandwidth", "M mul-add", "of G/s int",
             "peak", "load s");
        line("---:", ":---", "---:", "---:", "---:", "---:", "---:", "---:", "---:", "---:", "---:");
    }
    const double median = r["tokens_per_second"], low = r["tokens_per_second_min"], high = r["tokens_per_second_max"];
    line(r["threads"].get<int>(), bench_test_name(r), fmt::format("{:.2f}", median),
         fmt::format("{:.1f} %", 100 * (high - low) / median),
         fmt::format("{:.1f}", r["bytes_per_token"].get<double>() / 1e6),
         fmt::format("{:.1f}", r["read_bandwidth"].get<double>() / 1e9),
         fmt::format("{:.1f} %", 100 * r["bandwidth_share"].get<double>()),
         fmt::format("{:.1f}", r["multiply_adds_per_token"].get<double>() / 1e6),
         fmt::format("{:.0f}", r["integer_peak"].get<double>() / 1e9),
         fmt::format("{:.1f} %", 100 * r["peak_share"].get<double>()),
         fmt::format("{:.3f}", r["load_seconds"].get<double>()));
}

void BenchOutput::print_csv(const BenchResult& result) {
    std::vector<std::string> keys, values;
    for (const auto& [key, value] : result.items()) {
        keys.push_back(key);
        values.push_back(csv_field(value));
    }
    if (all_.empty()) fmt::print("{}\n", fmt::join(keys, ","));
    fmt::print("{}\n", fmt::join(values, ","));
}

}  // namespace minfer::cli
