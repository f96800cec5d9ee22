// minfer merge: the parts of a GGUF file to one file.
#include <fmt/format.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/parse.h"
#include "cli/written_parts.h"
#include "gguf/rewrite.h"
#include "gguf/split_name.h"

namespace minfer::cli {
namespace {

int merge(const std::vector<std::string>& args) {
    std::string output, first;
    bool dry_run = false;
    CLI::App app("Merges the parts of a GGUF file, those of llama.cpp's tool too, into the file that was split.",
                 "minfer merge");
    app.add_option("OUT", output, "the file to write")->required();
    app.add_option("PART", first, "the first part, NAME-00001-of-NNNNN.gguf")->required();
    app.add_flag("--dry-run", dry_run, "read the parts' headers, print the result and write nothing");
    if (const auto status = parse(app, args)) return *status;

    if (output.empty()) throw UsageError("OUT is empty, expected the file to write");
    const gguf::Gguf source = gguf::Gguf::open(first, gguf::Gguf::Access::Read);
    if (source.get_or<uint32_t>(gguf::kSplitCountKey, 0) == 0)
        throw Error(fmt::format("{} is no part of a split: it has no split.count above 0", first));
    gguf::Writer out(output);
    gguf::rewrite_header(source, out);
    if (!dry_run) {
        Progress progress("merge", out.data_bytes());
        gguf::rewrite_tensors(source, out, progress);
        progress.finish();
    }
    print_parts(out);
    return 0;
}

}  // namespace

const Command kMergeCommand{"merge", "parts of a GGUF file to one file", merge};

}  // namespace minfer::cli
