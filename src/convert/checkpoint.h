// A checkpoint folder's weights: model.safetensors, or the shards that model.safetensors.index.json lists.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "convert/safetensors.h"

namespace minfer::convert {

class Checkpoint {
  public:
    // Opens every shard and reads its header. Throws IoError and FormatError: no weights, weights that are not
    // safetensors, a shard missing or outside the folder, a tensor in two shards, an index that names a tensor which
    // its shard does not have, a tensor which the index does not name.
    explicit Checkpoint(const std::filesystem::path& folder);

    // In the order of the shards' names.
    const std::vector<File>& shards() const { return shards_; }
    // Shard by shard, within a shard by name: the order in which the reference writes them.
    const std::vector<SourceTensor>& tensors() const { return tensors_; }

  private:
    std::vector<File> shards_;
    std::vector<SourceTensor> tensors_;
};

// The path of a file that the checkpoint names, which must lie within the folder: no absolute path, no "..". A link in
// the folder may lead anywhere, as those of HuggingFace's cache do. Throws FormatError, naming `field` of `source`.
std::filesystem::path path_within(const std::filesystem::path& folder, std::string_view name, const std::string& source,
                                  const std::string& field);

}  // namespace minfer::convert
