// minfer info: what a GGUF file holds.
#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/byte_size.h"
#include "base/printable.h"
#include "cli/commands.h"
#include "cli/metadata_text.h"
#include "cli/parse.h"
#include "cli/table.h"
#include "gguf/reader.h"

namespace minfer::cli {
namespace {

using gguf::Gguf;
using gguf::TensorInfo;

struct Totals {
    uint64_t n_parameters = 0, bytes = 0;

    double bits_per_weight() const { return n_parameters == 0 ? 0 : 8.0 * double(bytes) / double(n_parameters); }
};

Totals totals(const Gguf& model) {
    Totals sum;
    for (const TensorInfo& t : model.tensors()) {
        sum.n_parameters += t.n_values();
        sum.bytes += t.nbytes;
    }
    return sum;
}

// Any model may be looked at, one without this key too.
std::string architecture(const Gguf& model) {
    return std::string(model.get_or<std::string_view>("general.architecture", "unknown"));
}

std::string shape_text(const TensorInfo& tensor) {
    return fmt::format("{}", fmt::join(tensor.ne.begin(), tensor.ne.begin() + tensor.n_dims, " x "));
}

// "134.5 M".
std::string count_text(uint64_t n) {
    if (n < 1000) return fmt::format("{}", n);
    constexpr const char* kUnits[] = {"K", "M", "B", "T"};
    double value = double(n) / 1000;
    size_t unit = 0;
    while (value >= 999.95 && unit + 1 < std::size(kUnits)) {
        value /= 1000;
        ++unit;
    }
    return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

void print_summary(const Gguf& model) {
    const Totals sum = totals(model);
    std::map<std::string_view, std::pair<size_t, uint64_t>> by_type;
    for (const TensorInfo& t : model.tensors()) {
        auto& [count, bytes] = by_type[type_name(t.type)];
        ++count;
        bytes += t.nbytes;
    }
    std::vector<std::string> types;
    for (const auto& [name, sums] : by_type)
        types.push_back(fmt::format("{} {} ({})", sums.first, name, format_byte_size(sums.second)));
    std::vector<std::vector<std::string>> rows = {
        {"architecture", printable(architecture(model))},
        {"parameters", fmt::format("{} ({})", count_text(sum.n_parameters), sum.n_parameters)},
        {"bits per weight", fmt::format("{:.2f}", sum.bits_per_weight())},
        {"file", fmt::format("{} ({} bytes), GGUF version {}, alignment {}", format_byte_size(model.file_size()),
                             model.file_size(), gguf::kVersion, model.alignment())},
    };
    if (model.parts().size() > 1) rows.push_back({"parts", fmt::format("{}", model.parts().size())});
    rows.push_back(
        {"tensors", fmt::format("{}{}{}", model.tensors().size(), types.empty() ? "" : ": ", fmt::join(types, ", "))});
    fmt::print("{}\n", printable(model.path()));
    print_table(rows, {Align::Left, Align::Left});
}

void print_metadata(const Gguf& model, bool full) {
    fmt::print("\nmetadata: {} keys\n", model.metadata().size());
    std::vector<std::vector<std::string>> rows;
    for (const auto& [key, value] : model.metadata()) {
        const std::string count = value.is_array() ? fmt::format("{}", value.count()) : "";
        rows.push_back({printable(key), value_type_text(value), count, value_text(value, full)});
    }
    print_table(rows, {Align::Left, Align::Left, Align::Right, Align::Left});
}

void print_tensors(const Gguf& model) {
    if (model.tensors().empty()) return;
    const bool several = model.parts().size() > 1;
    fmt::print("\n");
    std::vector<std::vector<std::string>> rows = {{"tensor", "shape", "type", "bytes", "offset"}};
    if (several) rows[0].push_back("part");
    for (const TensorInfo& t : model.tensors()) {
        rows.push_back({printable(t.name), shape_text(t), std::string(type_name(t.type)), fmt::format("{}", t.nbytes),
                        fmt::format("{}", t.offset)});
        if (several) rows.back().push_back(fmt::format("{}", t.part + 1));
    }
    print_table(rows, {Align::Left, Align::Left, Align::Left, Align::Right, Align::Right, Align::Right});
}

void print_json(const Gguf& model, bool full) {
    using Json = nlohmann::ordered_json;
    const Totals sum = totals(model);
    Json json{{"path", model.path()},
              {"version", gguf::kVersion},
              {"architecture", architecture(model)},
              {"n_tensors", model.tensors().size()},
              {"n_parameters", sum.n_parameters},
              {"bits_per_weight", sum.bits_per_weight()},
              {"file_size", model.file_size()},
              {"alignment", model.alignment()}};
    for (const gguf::Part& part : model.parts())
        json["parts"].push_back({{"path", part.path},
                                 {"bytes", part.size},
                                 {"data_offset", part.data_offset},
                                 {"n_tensors", part.n_tensors}});
    // A lookup of an ordered object goes through all of it; the reader has seen to it that each key comes once.
    Json::object_t metadata;
    for (const auto& [key, value] : model.metadata()) metadata.emplace_back(key, value_json(value, full));
    json["metadata"] = std::move(metadata);
    json["tensors"] = Json::array();
    for (const TensorInfo& t : model.tensors())
        json["tensors"].push_back({{"name", t.name},
                                   {"shape", std::vector(t.ne.begin(), t.ne.begin() + t.n_dims)},
                                   {"type", type_name(t.type)},
                                   {"bytes", t.nbytes},
                                   {"offset", t.offset},
                                   {"part", t.part}});
    fmt::print("{}\n", json_text(json));
}

int info(const std::vector<std::string>& args) {
    std::string path;
    bool full = false, json = false;
    CLI::App app("Shows the metadata and the tensors of a GGUF file; of several parts, name the first.", "minfer info");
    app.add_option("FILE", path, "the file")->required();
    app.add_flag("--full", full, "print long strings and arrays in whole");
    app.add_flag("--json", json, "print one JSON object");
    if (const auto status = parse(app, args)) return *status;
    const Gguf model = Gguf::open(path, Gguf::Access::Read);
    if (json) {
        print_json(model, full);
        return 0;
    }
    print_summary(model);
    print_metadata(model, full);
    print_tensors(model);
    return 0;
}

}  // namespace

const Command kInfoCommand{"info", "metadata, tensors, types and sizes of a GGUF file", info};

}  // namespace minfer::cli
