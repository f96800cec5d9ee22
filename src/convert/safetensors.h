// The header of a safetensors file: 64 little-endian bits of length, that many bytes of JSON, then the tensors' bytes.
// Format: github.com/huggingface/safetensors, README.md, "Format". A file is hostile until this has checked it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace minfer::convert {

// The types minfer converts; every other name of the format is Other.
enum class Dtype { F32, F16, BF16, Other };

struct SourceTensor {
    std::string name;
    Dtype dtype = Dtype::Other;
    std::string dtype_name;       // as the file spells it
    std::vector<uint64_t> shape;  // HuggingFace's order: rows first
    uint64_t offset = 0;          // of its bytes, from the start of the file
    uint64_t nbytes = 0;
    size_t shard = 0;  // index into Checkpoint::shards()

    uint64_t n_values() const;
};

// A longer header is refused, so that reading one is bounded; a model of 1000 tensors has about 150 KB.
constexpr uint64_t kMaxSafetensorsHeader = 16 << 20;

// Parses a header. `json` is what follows the length, `file_size` the bytes of the whole file; `path` is for messages.
// The tensors come in the order of their names, which is the order in which the reference writes them. Throws
// FormatError naming the tensor: JSON that does not parse, a key that is missing, twice or of the wrong kind, a product
// of dimensions past 64 bits, offsets that disagree with shape and type, overlap, leave a hole or pass the end.
std::vector<SourceTensor> parse_safetensors_header(std::string_view json, uint64_t file_size, const std::string& path);

std::vector<SourceTensor> read_safetensors_header(const File& file);

}  // namespace minfer::convert
