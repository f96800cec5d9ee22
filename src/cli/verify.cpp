// minfer verify: reads a GGUF file to its last byte and says what is wrong with it.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/checked.h"
#include "base/error.h"
#include "base/printable.h"
#include "base/progress.h"
#include "base/sha256.h"
#include "cli/commands.h"
#include "cli/metadata_text.h"
#include "cli/parse.h"
#include "gguf/block_check.h"
#include "gguf/reader.h"

namespace minfer::cli {
namespace {

using gguf::Gguf;
using gguf::TensorInfo;
using Json = nlohmann::ordered_json;

constexpr uint64_t kChunkBytes = uint64_t(1) << 20;

struct VerifiedTensor {
    const TensorInfo* tensor;
    std::string sha256;
    gguf::BlockFindings findings;

    // NaN is a fault anywhere, an infinity in a scale too; an infinite plain value may be meant, a mask for example.
    bool is_faulty() const { return findings.n_nan > 0 || (findings.n_infinite > 0 && !gguf::is_float(tensor->type)); }
    std::string words() const {
        std::string out;
        const char* unit = gguf::is_float(tensor->type) ? "value" : "scale";
        const char* place = gguf::is_float(tensor->type) ? "value" : "block";
        const auto add = [&](uint64_t n, const char* what, const std::optional<uint64_t>& first) {
            if (n == 0) return;
            out += fmt::format("{}{} {} {}{}, first at {} {}", out.empty() ? "" : "; ", n, what, unit,
                               n == 1 ? "" : "s", place, *first);
        };
        add(findings.n_nan, "NaN", findings.first_nan);
        add(findings.n_infinite, "infinite", findings.first_infinite);
        return out;
    }
};

struct VerifiedPart {
    std::string sha256;
    uint64_t end = 0;         // of the last tensor, padding included
    uint64_t n_trailing = 0;  // bytes after it, which no reader looks at
};

struct Verified {
    std::vector<VerifiedPart> parts;
    std::vector<VerifiedTensor> tensors;

    size_t n_faulty_tensors() const { return size_t(std::ranges::count_if(tensors, &VerifiedTensor::is_faulty)); }
    bool is_sound() const {
        return n_faulty_tensors() == 0 && std::ranges::all_of(parts, [](const auto& p) { return p.n_trailing == 0; });
    }
};

// Reads the part once, from its first byte to its last; every byte goes into the file's hash, a tensor's into its own.
void verify_part(const Gguf& model, size_t part, Progress& progress, Verified& out) {
    const File& file = model.file(part);
    std::vector<std::byte> buffer(kChunkBytes);
    Sha256 whole;
    uint64_t position = 0;
    const auto pass = [&](uint64_t end, uint64_t chunk, const auto& also) {
        while (position < end) {
            const auto bytes = std::span(buffer).first(size_t(std::min(chunk, end - position)));
            file.pread_exact(position, bytes);
            whole.update(bytes);
            also(bytes);
            position += bytes.size();
            progress.advance(bytes.size());
        }
    };
    const auto nothing = [](std::span<const std::byte>) {};
    uint64_t end = model.parts()[part].data_offset;
    for (const TensorInfo& tensor : model.tensors()) {
        if (tensor.part != part) continue;
        progress.item(tensor.name);
        pass(tensor.offset, kChunkBytes, nothing);
        Sha256 own;
        gguf::BlockChecker checker(tensor.type);
        pass(tensor.offset + tensor.nbytes, kChunkBytes / type_size(tensor.type) * type_size(tensor.type),
             [&](std::span<const std::byte> bytes) {
                 own.update(bytes);
                 checker.check(bytes);
             });
        end = checked_align_up(tensor.offset + tensor.nbytes, model.parts()[part].alignment).value_or(UINT64_MAX);
        out.tensors.push_back({&tensor, own.hex_digest(), checker.findings()});
    }
    pass(file.size(), kChunkBytes, nothing);
    out.parts.push_back({whole.hex_digest(), end, file.size() > end ? file.size() - end : 0});
}

Verified verify_model(const Gguf& model) {
    Verified out;
    Progress progress("verify", model.file_size());
    for (size_t part = 0; part < model.parts().size(); ++part) verify_part(model, part, progress, out);
    progress.finish();
    return out;
}

void print_text(const Gguf& model, const Verified& verified) {
    for (const VerifiedTensor& t : verified.tensors)
        fmt::print("{}  {}{}\n", t.sha256, printable(t.tensor->name), t.words().empty() ? "" : "  " + t.words());
    for (size_t i = 0; i < model.parts().size(); ++i) {
        const VerifiedPart& part = verified.parts[i];
        fmt::print(
            "{}  {}{}\n", part.sha256, printable(model.parts()[i].path),
            part.n_trailing == 0 ? "" : fmt::format("  {} bytes after its end at {}", part.n_trailing, part.end));
    }
    const size_t n_faulty = verified.n_faulty_tensors();
    fmt::print("{} tensors, ", verified.tensors.size());
    if (verified.is_sound())
        fmt::print("no fault found\n");
    else if (n_faulty > 0)
        fmt::print("{} of them faulty\n", n_faulty);
    else
        fmt::print("none of them faulty, but more in the file than they are\n");
}

Json to_json(const Gguf& model, const Verified& verified) {
    Json json{{"path", model.path()}, {"ok", verified.is_sound()}};
    for (size_t i = 0; i < model.parts().size(); ++i)
        json["parts"].push_back({{"path", model.parts()[i].path},
                                 {"bytes", model.parts()[i].size},
                                 {"sha256", verified.parts[i].sha256},
                                 {"n_trailing", verified.parts[i].n_trailing}});
    json["tensors"] = Json::array();
    for (const VerifiedTensor& t : verified.tensors) {
        Json tensor{{"name", t.tensor->name},
                    {"type", type_name(t.tensor->type)},
                    {"bytes", t.tensor->nbytes},
                    {"sha256", t.sha256},
                    {"ok", !t.is_faulty()},
                    {"n_nan", t.findings.n_nan},
                    {"n_infinite", t.findings.n_infinite}};
        if (!t.words().empty()) tensor["found"] = t.words();
        json["tensors"].push_back(std::move(tensor));
    }
    return json;
}

int verify(const std::vector<std::string>& args) {
    std::string path;
    bool json = false;
    CLI::App app(
        "Reads all of a GGUF file: its structure, numbers that are NaN or infinite, bytes after its end, and SHA-256 "
        "of each tensor and file. Exits with 1 where it finds a fault.",
        "minfer verify");
    app.add_option("FILE", path, "the file; of several parts the first")->required();
    app.add_flag("--json", json, "print one JSON object");
    if (const auto status = parse(app, args)) return *status;
    try {
        const Gguf model = Gguf::open(path, Gguf::Access::Read);
        const Verified verified = verify_model(model);
        if (json)
            fmt::print("{}\n", json_text(to_json(model, verified)));
        else
            print_text(model, verified);
        return verified.is_sound() ? 0 : 1;
    } catch (const Error& e) {
        if (json) fmt::print("{}\n", json_text({{"path", path}, {"ok", false}, {"error", e.what()}}));
        throw;
    }
}

}  // namespace

const Command kVerifyCommand{"verify", "read all of a GGUF file and check it", verify};

}  // namespace minfer::cli
