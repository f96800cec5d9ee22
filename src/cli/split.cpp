// minfer split: one GGUF file to several.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/byte_size.h"
#include "base/error.h"
#include "base/held_signals.h"
#include "base/printable.h"
#include "base/temporary_path.h"
#include "cli/commands.h"
#include "cli/parse.h"
#include "cli/size.h"
#include "cli/written_parts.h"
#include "gguf/rewrite.h"
#include "gguf/split_name.h"

namespace minfer::cli {
namespace {

namespace fs = std::filesystem;
using gguf::Gguf;

// A folder that is there for what is written into it, and goes again, with those made above it, if nothing was.
class OutputFolder {
  public:
    explicit OutputFolder(const fs::path& path) { make(path); }
    OutputFolder(const OutputFolder&) = delete;
    OutputFolder& operator=(const OutputFolder&) = delete;
    ~OutputFolder() {
        while (!made_.empty()) made_.pop_back();  // the innermost first
    }

  private:
    void make(const fs::path& path) {
        if (path.empty() || fs::is_directory(path)) return;
        if (path.has_relative_path()) make(path.parent_path());
        const HeldSignals held;
        if (mkdir(path.c_str(), 0777) == 0)
            made_.push_back(std::make_unique<TemporaryPath>(path.string(), TemporaryPath::Kind::Folder));
        else if (errno != EEXIST || !fs::is_directory(path))
            throw IoError(path.string(), "create the folder", errno);
    }

    std::vector<std::unique_ptr<TemporaryPath>> made_;
};

std::string default_stem(const std::string& input) {
    std::string stem = fs::path(input).filename().string();
    if (stem.ends_with(".gguf")) stem.resize(stem.size() - 5);
    return stem.empty() ? "model" : stem;
}

void require_single_file(const Gguf& source) {
    const auto name = gguf::parse_split_name(source.path());
    uint32_t count = source.get_or<uint32_t>(gguf::kSplitCountKey, 0);
    if (count <= 1 && name) count = name->count;
    if (count > 1 || name)
        throw Error(fmt::format("{} is already a multi-part split ({} parts); point at a single-file GGUF",
                                source.path(), count));
    if (source.tensors().empty())
        throw Error(fmt::format("{} has no tensors; there is nothing to split", source.path()));
}

int split(const std::vector<std::string>& args) {
    std::string input, folder, max_size, stem;
    uint64_t max_tensors = 0;
    bool dry_run = false;
    CLI::App app("Splits a GGUF file into parts that llama.cpp and minfer load as one. Sizes take K, M and G.",
                 "minfer split");
    app.add_option("IN", input, "the file")->required();
    app.add_option("OUT-DIR", folder, "the folder of the parts")->required();
    app.add_option("--max-size,--split-max-size", max_size, "bytes of tensors in a part, at most");
    app.add_option("--split-max-tensors", max_tensors, "tensors in a part, at most")->check(CLI::Range(1, 1 << 24));
    app.add_option("--stem", stem, "parts are STEM-NNNNN-of-MMMMM.gguf; without it, the file's own name");
    app.add_flag("--dry-run", dry_run, "print the parts and write nothing");
    if (const auto status = parse(app, args)) return *status;

    if (max_size.empty() && max_tensors == 0) throw Error("--max-size is required (no silent default part size)");
    gguf::SplitLimits limits;
    if (!max_size.empty()) limits.max_bytes = parse_size("--max-size", max_size);
    if (max_tensors != 0) limits.max_tensors = max_tensors;
    if (stem.empty()) stem = default_stem(input);
    if (folder.empty()) throw UsageError("OUT-DIR is empty, expected the folder of the parts");
    if (stem.find('/') != std::string::npos) throw UsageError("--stem is a name without a folder");

    const Gguf source = Gguf::open_part(input);
    require_single_file(source);
    std::optional<OutputFolder> made;
    if (!dry_run) made.emplace(folder);
    gguf::Writer out((fs::path(folder) / (stem + ".gguf")).string());
    gguf::rewrite_header(source, out);
    out.split(limits);
    if (!gguf::is_canonical(source))
        fmt::print(
            stderr,
            "note: {} has left-over split.* keys or unusual padding, which the parts do not keep; merged again, they "
            "hold the same metadata and tensors\n",
            printable(input));
    if (!dry_run) {
        Progress progress("split", out.data_bytes());
        gguf::rewrite_tensors(source, out, progress);
        progress.finish();
    }
    print_parts(out);
    return 0;
}

}  // namespace

const Command kSplitCommand{"split", "one GGUF file to parts", split};

}  // namespace minfer::cli
