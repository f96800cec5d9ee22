// minfer quantize: re-encode a GGUF file, byte for byte as llama.cpp does.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/printable.h"
#include "base/progress.h"
#include "base/threads.h"
#include "cli/commands.h"
#include "cli/parse.h"
#include "cli/size.h"
#include "gguf/split_name.h"
#include "quant/encode.h"
#include "quant/quantize_model.h"

namespace minfer::cli {
namespace {

using gguf::KeyValue;
using gguf::TensorType;
using gguf::Value;
using quant::Choice;
using quant::QuantizePlan;
using quant::QuantizeStep;

double mib(uint64_t bytes) { return double(bytes) / (1 << 20); }

TensorType parse_type(const std::string& option, const std::string& name) {
    const auto type = gguf::type_from_name(name);
    if (type && quant::can_encode(*type)) return *type;
    throw UsageError(
        fmt::format("{}: {} '{}'; supported: f32, f16, bf16, q4_0, q4_1, q5_0, q5_1, q8_0, q2_K, q3_K, q4_K, "
                    "q5_K, q6_K, iq4_nl, iq4_xs",
                    option, type ? "minfer has no encoder for" : "found no type", name));
}

quant::TypeOverride parse_tensor_type(const std::string& word) {
    const size_t equals = word.rfind('=');
    if (equals == std::string::npos || equals == 0)
        throw UsageError(fmt::format("--tensor-type: found '{}', expected REGEX=TYPE", word));
    try {
        return {quant::tensor_name_pattern(word.substr(0, equals)),
                parse_type("--tensor-type", word.substr(equals + 1))};
    } catch (const std::regex_error& e) {
        throw UsageError(fmt::format("--tensor-type: '{}' is no regular expression that minfer takes: {}",
                                     word.substr(0, equals), e.what()));
    }
}

template <typename Number>
Number parse_number(const std::string& word, std::string_view digits) {
    Number value = {};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size())
        throw UsageError(fmt::format("--override-kv: '{}': found no number in '{}'", word, digits));
    return value;
}

// KEY=int:N, KEY=float:X, KEY=bool:true|false, KEY=str:TEXT. Integers are written as u32, as the reference writes them.
KeyValue parse_override(const std::string& word) {
    const size_t equals = word.find('='), colon = word.find(':', equals == std::string::npos ? 0 : equals);
    if (equals == std::string::npos || equals == 0 || colon == std::string::npos)
        throw UsageError(fmt::format("--override-kv: found '{}', expected KEY=int|float|bool|str:VALUE", word));
    const std::string key = word.substr(0, equals), type = word.substr(equals + 1, colon - equals - 1);
    const std::string text = word.substr(colon + 1);
    if (gguf::is_split_key(key))
        throw UsageError(fmt::format(
            "--override-kv: '{}' says how a file is split, which --split-max-size and --keep-split decide", key));
    if (type == "int") {
        const auto value = parse_number<int64_t>(word, text);
        if (value < 0 || value > int64_t(UINT32_MAX))
            throw UsageError(fmt::format("--override-kv: '{}': found {}, expected 0 to {}", word, value, UINT32_MAX));
        return {key, Value::scalar(uint32_t(value))};
    }
    if (type == "float") {
        const auto value = float(parse_number<double>(word, text));
        if (!std::isfinite(value))
            throw UsageError(
                fmt::format("--override-kv: '{}': found {}, expected a number that f32 holds", word, text));
        return {key, Value::scalar(value)};
    }
    if (type == "bool" && (text == "true" || text == "false")) return {key, Value::scalar(text == "true")};
    if (type == "str") return {key, Value::string(text)};
    throw UsageError(fmt::format("--override-kv: found '{}', expected KEY=int|float|bool|str:VALUE", word));
}

std::string shape_of(const gguf::TensorInfo& tensor) {
    std::string text;
    for (uint32_t i = 0; i < tensor.n_dims; ++i) text += fmt::format("{}{}", i ? " x " : "", tensor.ne[i]);
    return text;
}

void print_table(const QuantizePlan& plan) {
    size_t width = 0;
    for (const QuantizeStep& step : plan.steps) width = std::max(width, printable(step.source->name).size());
    for (const QuantizeStep& step : plan.steps)
        fmt::print("{:<{}}  {:>18}  {:>6} -> {:<6}  {:>9.2f} MiB -> {:>9.2f} MiB\n", printable(step.source->name),
                   width, shape_of(*step.source), gguf::type_name(step.source->type), gguf::type_name(step.target.type),
                   mib(step.source->nbytes), mib(step.nbytes));
}

// One of the lists that the specification asks for: nothing silently gets another type than the one asked for.
void print_list(const QuantizePlan& plan, Choice choice, const std::string& what) {
    size_t n = 0;
    std::string names;
    for (const QuantizeStep& step : plan.steps) {
        if (step.target.choice != choice) continue;
        names +=
            fmt::format("{}{} ({})", n++ ? ", " : "", printable(step.source->name), gguf::type_name(step.target.type));
    }
    if (n > 0) fmt::print("quantize: {} tensor(s) {}: {}\n", n, what, names);
}

void print_summary(const QuantizePlan& plan, const quant::QuantizeOptions& options) {
    const std::string_view type = gguf::type_name(options.plan.scheme.base);
    print_list(
        plan, Choice::Demoted,
        fmt::format("demoted from {} (row length not a multiple of the block size; llama.cpp's tensor_type_fallback)",
                    type));
    print_list(plan, Choice::Kept, "kept at their source type (vectors, norms and tables that are not encoded)");
    print_list(plan, Choice::Rule, fmt::format("given another type than {} by the mixture's rules", type));
    print_list(plan, Choice::Option, "given the type that an option names");
    fmt::print("quantize: {:.2f} MiB ({:.2f} bits per weight) -> {:.2f} MiB ({:.2f})\n", mib(plan.source_bytes),
               double(plan.source_bytes) * 8 / double(plan.n_values), mib(plan.target_bytes),
               double(plan.target_bytes) * 8 / double(plan.n_values));
}

// A name that is misspelt changes nothing, and would be found out long after.
void warn_of_the_unused(const gguf::Gguf& source, const QuantizePlan& plan, const quant::QuantizeOptions& options,
                        const std::vector<std::string>& tensor_types) {
    const bool blocks = gguf::block_size(options.plan.scheme.base) > 1;
    for (size_t i = 0; i < tensor_types.size(); ++i) {
        if (std::ranges::any_of(plan.steps, [&](const QuantizeStep& s) { return s.target.override_index == i; }))
            continue;
        const std::regex& pattern = options.plan.overrides[i].pattern;
        const bool matches = std::ranges::any_of(
            source.tensors(), [&](const gguf::TensorInfo& t) { return std::regex_search(t.name, pattern); });
        fmt::print(stderr, "quantize: warning: --tensor-type '{}' {}\n", printable(tensor_types[i]),
                   !matches  ? "matches no tensor"
                   : !blocks ? fmt::format("has no effect with --type {}", options.plan.scheme.name)
                             : "has no effect: an earlier option decides what it matches, or that is not encoded");
    }
    if (!options.importance) return;
    constexpr size_t kMostNames = 8;
    size_t n = 0;
    std::string names;
    for (const std::string& name : options.importance->names()) {
        if (source.find_tensor(name)) continue;
        if (n < kMostNames) names += fmt::format("{}{}", n ? ", " : "", printable(name));
        if (n++ == kMostNames) names += ", ...";
    }
    if (n > 0)
        fmt::print(stderr, "quantize: warning: {} of the {} entries of {} match no tensor: {}\n", n,
                   options.importance->n_entries(), printable(options.importance->path()), names);
}

int run(const std::vector<std::string>& args) {
    CLI::App app("Re-encodes the weights of a GGUF file. The bytes are those that llama-quantize writes.",
                 "minfer quantize");
    std::string in, out, type, arith = "x86-64";
    std::optional<std::string> imatrix, output_type, token_embedding_type, split_max_size;
    std::vector<std::string> tensor_types, overrides;
    int threads = 0;
    bool pure = false, mixture = false, leave_output = false, dry_run = false;
    quant::QuantizeOptions options;
    app.add_option("IN", in, "The file to read, f32, f16 or bf16")->required()->type_name("IN.gguf");
    app.add_option("OUT", out, "The file to write")->required()->type_name("OUT.gguf");
    app.add_option("--type", type, "The type to encode to: " + quant::scheme_names())->type_name("T");
    auto* pure_flag = app.add_flag("--pure", pure, "One uniform type (the default of the plain K and IQ names)");
    app.add_flag("--mixture", mixture, "More bits where llama.cpp's rules give them (the default of the others)")
        ->excludes(pure_flag);
    app.add_option("--arith", arith, "Whose bytes: of x86-64 (default), aarch64-clang or aarch64-gcc builds")
        ->type_name("A");
    app.add_option("--imatrix", imatrix, "Importance of each weight's inputs, from llama-imatrix")->type_name("FILE");
    app.add_option("--output-tensor-type", output_type, "The type of output.weight, or of a tied embedding")
        ->type_name("T");
    app.add_option("--token-embedding-type", token_embedding_type, "The type of token_embd.weight")->type_name("T");
    app.add_option("--tensor-type", tensor_types,
                   "The type of tensors whose names match; the first match decides, and letters are lower case, as in "
                   "llama-quantize")
        ->type_name("REGEX=T")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.add_flag("--leave-output-tensor", leave_output, "Leave output.weight as it is");
    app.add_flag("--allow-requantize", options.allow_requantize, "Take sources that have lost quality already");
    app.add_option("--override-kv", overrides, "Set a key of the metadata: KEY=int|float|bool|str:VALUE")
        ->type_name("KEY=TYPE:VALUE")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    auto* keep = app.add_flag("--keep-split", options.keep_split, "Take a source in parts, and write the same parts");
    app.add_option("--split-max-size", split_max_size, "Write parts of at most this size: 512M, 2G")
        ->type_name("N")
        ->excludes(keep);
    app.add_flag("--dry-run", dry_run, "Print what would be written, and write nothing");
    app.add_option("-t,--threads", threads, "Threads; default: one for each CPU that minfer may run on")
        ->check(CLI::Range(1, ThreadPool::kMaxThreads))
        ->type_name("N");
    if (const std::optional<int> status = parse(app, args)) return *status;

    if (type.empty())
        throw Error("--type is required (no silent default: a wrong target would write wrong weights); supported: " +
                    quant::scheme_names());
    options.plan.scheme = quant::find_scheme(type);
    options.plan.scheme.pure = mixture ? false : pure || options.plan.scheme.pure;
    options.plan.quantize_output = !leave_output;
    options.arithmetic = quant::parse_arithmetic(arith);
    if (output_type) options.plan.output_type = parse_type("--output-tensor-type", *output_type);
    if (token_embedding_type)
        options.plan.token_embedding_type = parse_type("--token-embedding-type", *token_embedding_type);
    for (const std::string& word : tensor_types) options.plan.overrides.push_back(parse_tensor_type(word));
    for (const std::string& word : overrides) options.override_keys.push_back(parse_override(word));
    if (split_max_size) options.split = gguf::SplitLimits{.max_bytes = parse_size("--split-max-size", *split_max_size)};
    std::optional<quant::Importance> importance;
    if (imatrix) {
        importance = quant::Importance::read(*imatrix);
        options.importance = &*importance;
        options.plan.has_importance = true;
    }

    if (out.empty()) throw UsageError("OUT is empty, expected the file to write");
    const gguf::Gguf source = gguf::Gguf::open(in, gguf::Gguf::Access::Read);
    const QuantizePlan plan = quant::plan_quantize(source, options);
    const auto files = quant::planned_files(source, plan, options, out);
    for (const auto& file : files)
        if (importance && importance->file().is_same_file(file.path))
            throw Error(fmt::format("{} is the importance matrix; writing to it would destroy it", file.path));
    warn_of_the_unused(source, plan, options, tensor_types);
    if (dry_run) {
        print_table(plan);
        print_summary(plan, options);
        for (const auto& file : files)
            fmt::print("would write {}: {} bytes, {} tensors\n", printable(file.path), file.file_bytes(),
                       file.n_tensors);
        return 0;
    }
    ThreadPool pool(std::min(threads ? threads : usable_cpus(), quant::kMaxQuantizeThreads));
    Progress progress("quantize", plan.source_bytes);
    const quant::QuantizeProgress report = {
        .begin =
            [&](size_t step) {
                const QuantizeStep& s = plan.steps[step];
                progress.item(fmt::format("{} -> {}", s.source->name, gguf::type_name(s.target.type)));
            },
        .advance = [&](uint64_t bytes) { progress.advance(bytes); },
    };
    quant::quantize_model(source, plan, options, out, pool, report);
    progress.finish();
    print_summary(plan, options);
    for (const auto& file : files) fmt::print("wrote {}: {} bytes\n", printable(file.path), file.file_bytes());
    return 0;
}

}  // namespace

const Command kQuantizeCommand = {"quantize", "re-encode a GGUF file, byte for byte as llama.cpp does", run};

}  // namespace minfer::cli
