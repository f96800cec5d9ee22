#include "convert/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "convert/json_file.h"
#include "gguf/value.h"

namespace minfer::convert {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSingle = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";
constexpr uint64_t kMaxIndexBytes = 4 << 20;

// Tensor name to shard name.
using WeightMap = std::map<std::string, std::string>;

WeightMap read_index(const std::string& path) {
    const Json tree = read_json_object(path, kMaxIndexBytes);
    const JsonObject index(path, "", tree);
    const JsonObject weights = index.require("weight_map", index.object("weight_map"), "an object");
    WeightMap map;
    for (const auto& [tensor, shard] : weights.tree().items()) {
        if (!shard.is_string())
            throw FormatError(path, weights.field(tensor), describe(shard), "the name of a safetensors file");
        map.emplace(tensor, shard.get<std::string>());
    }
    return map;
}

[[noreturn]] void fail_without_weights(const fs::path& folder) {
    std::optional<std::string> other;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name.ends_with(".safetensors") || name.ends_with(".bin") || name.ends_with(".pth"))
            if (!other || name < *other) other = name;
    }
    throw FormatError(folder.string(), "weights", other ? gguf::in_quotes(*other) : "none",
                      fmt::format("{}, or {} and the files that it lists", kSingle, kIndex));
}

}  // namespace

fs::path path_within(const fs::path& folder, std::string_view name, const std::string& source,
                     const std::string& field) {
    const fs::path path(name);
    const bool inside = !name.empty() && name.find('\0') == std::string_view::npos && path.is_relative() &&
                        std::ranges::none_of(path, [](const fs::path& part) { return part == ".."; });
    if (!inside) throw FormatError(source, field, "the path " + gguf::in_quotes(name), "a file inside the folder");
    return folder / path;
}

Checkpoint::Checkpoint(const fs::path& folder) {
    if (!fs::is_directory(folder))
        throw FormatError(folder.string(), "checkpoint", fs::exists(folder) ? "a file" : "nothing", "a folder");
    const std::string index_path = (folder / kIndex).string();
    std::optional<WeightMap> weight_map;
    std::vector<std::string> names;
    if (is_there(index_path)) {
        weight_map = read_index(index_path);
        for (const auto& [tensor, shard] : *weight_map) names.push_back(shard);
        std::ranges::sort(names);
        names.erase(std::ranges::unique(names).begin(), names.end());
        for (const std::string& name : names)
            if (!is_there(path_within(folder, name, index_path, "weight_map")))
                throw FormatError(index_path, "weight_map", gguf::in_quotes(name) + ", which does not exist",
                                  "files of the folder");
    } else if (is_there(folder / kSingle)) {
        names.emplace_back(kSingle);
    } else {
        fail_without_weights(folder);
    }

    std::map<std::string_view, std::string_view> shard_of;  // by tensor, for what was seen so far
    for (const std::string& name : names) {
        shards_.push_back(File::open((folder / name).string()));
        for (SourceTensor& tensor : read_safetensors_header(shards_.back())) {
            tensor.shard = shards_.size() - 1;
            tensors_.push_back(std::move(tensor));
        }
    }
    for (const SourceTensor& tensor : tensors_) {
        const std::string& name = names[tensor.shard];
        const auto [first, is_new] = shard_of.emplace(tensor.name, name);
        if (!is_new)
            throw FormatError(shards_[tensor.shard].path(), "tensor " + gguf::in_quotes(tensor.name),
                              fmt::format("it in '{}' too", first->second), "each tensor in one file");
        if (!weight_map) continue;
        const auto listed = weight_map->find(tensor.name);
        if (listed == weight_map->end())
            throw FormatError(index_path, "weight_map", "no tensor " + gguf::in_quotes(tensor.name),
                              fmt::format("every tensor that '{}' has", name));
        if (listed->second != name)
            throw FormatError(index_path, "weight_map: tensor " + gguf::in_quotes(tensor.name),
                              gguf::in_quotes(listed->second), fmt::format("'{}', which has it", name));
    }
    if (!weight_map) return;
    for (const auto& [tensor, shard] : *weight_map)
        if (!shard_of.contains(tensor))
            throw FormatError(index_path, "weight_map: tensor " + gguf::in_quotes(tensor), gguf::in_quotes(shard),
                              "a file that has this tensor");
}

}  // namespace minfer::convert
