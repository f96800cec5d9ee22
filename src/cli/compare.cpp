// minfer compare: what two GGUF files have in common and where they differ.
#include <fmt/format.h>

#include "base/error.h"
#include "base/printable.h"
#include "cli/commands.h"
#include "cli/compare_tensors.h"
#include "cli/metadata_text.h"
#include "cli/parse.h"
#include "cli/table.h"
#include "gguf/split_name.h"

namespace minfer::cli {
namespace {

using gguf::Gguf;
using gguf::TensorInfo;
using gguf::Value;
using Json = nlohmann::ordered_json;

struct MetadataDifference {
    std::string key;
    const Value *a, *b;  // null where the file lacks the key

    const char* result() const { return !b ? "only in A" : !a ? "only in B" : "different"; }
};

struct Comparison {
    std::vector<MetadataDifference> metadata;  // differences alone
    size_t n_equal_keys = 0;
    std::vector<TensorDifference> tensors;  // equal ones too
    size_t n_equal_tensors = 0;

    bool is_equal() const { return metadata.empty() && n_equal_tensors == tensors.size(); }
};

Comparison compare_models(const Gguf& a, const Gguf& b) {
    Comparison out;
    // Files and parts are compared as the models that they hold: split.* keys say how those are stored.
    for (const auto& [key, value] : a.metadata()) {
        if (gguf::is_split_key(key)) continue;
        const Value* other = b.find(key);
        if (other && *other == value)
            ++out.n_equal_keys;
        else
            out.metadata.push_back({key, &value, other});
    }
    for (const auto& [key, value] : b.metadata())
        if (!a.has(key) && !gguf::is_split_key(key)) out.metadata.push_back({key, nullptr, &value});
    uint64_t total = 0;
    for (const TensorInfo& t : a.tensors()) total += t.nbytes;
    Progress progress("compare", total);
    for (const TensorInfo& t : a.tensors()) {
        progress.item(t.name);
        out.tensors.push_back(compare_tensors(a, &t, b, b.find_tensor(t.name), progress));
    }
    for (const TensorInfo& t : b.tensors())
        if (!a.find_tensor(t.name)) out.tensors.push_back(compare_tensors(a, nullptr, b, &t, progress));
    progress.finish();
    for (const TensorDifference& t : out.tensors)
        if (t.kind == TensorDifference::Kind::Equal) ++out.n_equal_tensors;
    return out;
}

std::string kind_text(const TensorInfo* tensor) {
    if (!tensor) return "-";
    return fmt::format("{} {}", type_name(tensor->type),
                       fmt::join(tensor->ne.begin(), tensor->ne.begin() + tensor->n_dims, " x "));
}

void print_text(const Comparison& c) {
    fmt::print("metadata: {} equal, {} not\n", c.n_equal_keys, c.metadata.size());
    std::vector<std::vector<std::string>> rows;
    if (!c.metadata.empty()) rows.push_back({"key", "A", "B", "result"});
    for (const MetadataDifference& m : c.metadata)
        rows.push_back(
            {printable(m.key), m.a ? value_text(*m.a, false) : "-", m.b ? value_text(*m.b, false) : "-", m.result()});
    print_table(rows, {Align::Left, Align::Left, Align::Left, Align::Left});
    fmt::print("tensors: {} equal, {} not\n", c.n_equal_tensors, c.tensors.size() - c.n_equal_tensors);
    rows.clear();
    if (!c.tensors.empty()) rows.push_back({"tensor", "A", "B", "result"});
    for (const TensorDifference& t : c.tensors)
        rows.push_back({printable(t.name()), kind_text(t.a), kind_text(t.b), t.words()});
    print_table(rows, {Align::Left, Align::Left, Align::Left, Align::Left});
}

Json tensor_json(const TensorInfo* tensor) {
    if (!tensor) return nullptr;
    return {{"type", type_name(tensor->type)},
            {"shape", std::vector(tensor->ne.begin(), tensor->ne.begin() + tensor->n_dims)},
            {"bytes", tensor->nbytes}};
}

Json to_json(const Gguf& a, const Gguf& b, const Comparison& c) {
    Json json{{"a", a.path()}, {"b", b.path()}, {"equal", c.is_equal()}};
    json["metadata"] = {{"n_equal", c.n_equal_keys}, {"different", Json::array()}};
    for (const MetadataDifference& m : c.metadata)
        json["metadata"]["different"].push_back({{"key", m.key},
                                                 {"result", m.result()},
                                                 {"a", m.a ? value_json(*m.a, false) : Json(nullptr)},
                                                 {"b", m.b ? value_json(*m.b, false) : Json(nullptr)}});
    json["tensors"] = {{"n_equal", c.n_equal_tensors}, {"all", Json::array()}};
    for (const TensorDifference& t : c.tensors) {
        Json tensor{{"name", t.name()}, {"result", t.kind_name()}, {"a", tensor_json(t.a)}, {"b", tensor_json(t.b)}};
        if (t.kind == TensorDifference::Kind::Bytes) tensor["n_different_bytes"] = t.n_different_bytes;
        if (t.error) {
            tensor["rmse"] = t.error->rmse();
            tensor["max_error"] = t.error->largest;
            tensor["n_not_finite"] = t.error->n_not_finite;
        }
        json["tensors"]["all"].push_back(std::move(tensor));
    }
    return json;
}

int compare(const std::vector<std::string>& args) {
    std::string path_a, path_b;
    bool json = false;
    CLI::App app("Compares the metadata and tensors of two GGUF files; exits with 1 where they differ.",
                 "minfer compare");
    app.add_option("A", path_a, "a file; of several parts the first")->required();
    app.add_option("B", path_b, "another")->required();
    app.add_flag("--json", json, "print one JSON object");
    if (const auto status = parse(app, args)) return *status;
    try {
        const Gguf a = Gguf::open(path_a, Gguf::Access::Read), b = Gguf::open(path_b, Gguf::Access::Read);
        const Comparison comparison = compare_models(a, b);
        if (json)
            fmt::print("{}\n", json_text(to_json(a, b, comparison)));
        else
            print_text(comparison);
        return comparison.is_equal() ? 0 : 1;
    } catch (const Error& e) {
        if (json) fmt::print("{}\n", json_text({{"a", path_a}, {"b", path_b}, {"equal", false}, {"error", e.what()}}));
        throw;
    }
}

}  // namespace

const Command kCompareCommand{"compare", "two GGUF files, tensor by tensor", compare};

}  // namespace minfer::cli
