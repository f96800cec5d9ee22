// minfer convert: a HuggingFace checkpoint to GGUF.
#include "convert/convert.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/printable.h"
#include "base/progress.h"
#include "cli/commands.h"
#include "cli/parse.h"
#include "cli/size.h"

namespace minfer::cli {
namespace {

using convert::Conversion;
using convert::PlannedTensor;

double mib(uint64_t bytes) { return double(bytes) / (1 << 20); }

std::string shape_of(const gguf::TensorSpec& tensor) {
    return tensor.ne[1] == 1 ? fmt::format("{}", tensor.ne[0]) : fmt::format("{} x {}", tensor.ne[0], tensor.ne[1]);
}

void print_tensors(const Conversion& conversion) {
    for (const PlannedTensor& tensor : conversion.tensors()) {
        std::string from = "computed", type;
        if (tensor.factors.empty()) {
            const convert::SourceTensor& source = conversion.checkpoint().tensors()[tensor.mapped.source];
            from = source.name;
            type = source.dtype_name + " -> ";
        }
        fmt::print("{:<28} {:>16}  {:>11}{:<4}  {:>12} bytes  {}{}\n", tensor.spec.name, shape_of(tensor.spec), type,
                   gguf::type_name(tensor.spec.type), tensor.spec.nbytes(), from,
                   tensor.mapped.permuted_heads != 0 ? ", rows permuted" : "");
    }
}

void print_plan(const Conversion& conversion) {
    std::map<std::string_view, size_t> n_of_type;
    for (const PlannedTensor& tensor : conversion.tensors()) ++n_of_type[gguf::type_name(tensor.spec.type)];
    std::vector<std::string> counts;
    for (const auto& [type, n] : n_of_type) counts.push_back(fmt::format("{} {}", n, type));
    fmt::print("convert: {} tensors ({}), {} metadata keys, {:.2f} MiB of weights\n", conversion.tensors().size(),
               fmt::join(counts, ", "), conversion.writer().metadata().size(), mib(conversion.data_bytes()));
}

int run(const std::vector<std::string>& args) {
    CLI::App app("Converts a HuggingFace checkpoint to GGUF. The bytes are those that convert_hf_to_gguf.py writes.",
                 "minfer convert");
    convert::ConvertOptions options;
    std::string source, outtype = "f16";
    std::optional<std::string> split_max_size;
    bool no_chat_template = false, dry_run = false, verbose = false;
    app.add_option("HF-DIR", source, "The checkpoint's folder: config.json, tokenizer.json, model.safetensors")
        ->required();
    app.add_option("OUT", options.output, "The file to write")->required()->type_name("OUT.gguf");
    app.add_option("--outtype", outtype, "The type of the matrices: f32, f16 (default), bf16 or q8_0; vectors are f32")
        ->type_name("T");
    app.add_option("--split-max-size", split_max_size, "Write parts of at most this size: 512M, 2G")->type_name("N");
    app.add_flag("--no-chat-template", no_chat_template, "Take a checkpoint that has no chat template");
    app.add_flag("--dry-run", dry_run, "Print what would be written, and write nothing");
    app.add_flag("--verbose", verbose, "List every tensor");
    if (const std::optional<int> status = parse(app, args)) return *status;

    if (options.output.empty()) throw UsageError("OUT.gguf is empty, expected the file to write");
    options.source = source;
    options.type = convert::parse_outtype(outtype);
    options.require_chat_template = !no_chat_template;
    if (split_max_size) options.split.max_bytes = parse_size("--split-max-size", *split_max_size);

    Conversion conversion = convert::plan_conversion(options);
    for (const std::string& note : conversion.notes()) fmt::print(stderr, "minfer convert: {}\n", note);
    if (verbose) print_tensors(conversion);
    print_plan(conversion);
    const auto files = conversion.writer().plan();
    if (!dry_run) {
        Progress bar("convert", conversion.data_bytes());
        conversion.run([&](const PlannedTensor& tensor, uint64_t bytes) {
            bar.item(tensor.spec.name);
            bar.advance(bytes);
        });
        bar.finish();
    }
    for (const auto& file : files)
        fmt::print("{} {}: {} bytes, {} tensors\n", dry_run ? "would write" : "wrote", printable(file.path),
                   file.file_bytes(), file.n_tensors);
    return 0;
}

}  // namespace

const Command kConvertCommand{"convert", "a HuggingFace checkpoint to GGUF", run};

}  // namespace minfer::cli
