// Writing GGUF files, version 3, in one file or in parts of a bounded size. The bytes of tensors pass through in
// pieces; memory holds the header alone.
//
//     Writer out("model.gguf");
//     out.set("general.architecture", Value::string("qwen2"));
//     out.add_tensor({.name = "output_norm.weight", .ne = {896}, .type = TensorType::F32});
//     out.begin();                          // no more metadata and tensors from here on
//     out.begin_tensor("output_norm.weight");
//     out.write(bytes);                     // as often as it takes, nbytes in all
//     out.commit();                         // the file is there; without it, nothing is
//
// Throws Error for what must not be written (a name twice or of 64 bytes, a dimension of 0, a row that is not whole
// blocks, more or fewer bytes than a tensor has), and IoError. No file appears, and none changes, before commit().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "gguf/reader.h"
#include "gguf/types.h"
#include "gguf/value.h"

namespace minfer::gguf {

struct TensorSpec {
    std::string name;
    std::array<uint64_t, kMaxDims> ne = {1, 1, 1, 1};
    TensorType type = TensorType::F32;
    uint32_t n_dims = 0;  // how many are written; 0: all but trailing ones. A copy of a file keeps the file's own.

    uint64_t nbytes() const;
};

TensorSpec spec_of(const TensorInfo& tensor);

// Bounds of one part. A tensor is never divided.
struct SplitLimits {
    uint64_t max_bytes = std::numeric_limits<uint64_t>::max();  // of tensor data, padding included
    uint64_t max_tensors = std::numeric_limits<uint64_t>::max();
};

// The part of each tensor, from 0, rising: a tensor starts a new part when it does not fit the current one any more.
// Throws Error where one tensor alone is beyond max_bytes, saying how much it takes.
std::vector<uint32_t> split_assignment(std::span<const TensorSpec> tensors, uint32_t alignment,
                                       const SplitLimits& limits);

// Hands the header's bytes to `take`, piece by piece, and gives their number. The tensors' data starts at the next
// multiple of the alignment.
uint64_t encode_header(std::span<const KeyValue> metadata, std::span<const TensorSpec> tensors, uint32_t alignment,
                       const std::function<void(std::span<const std::byte>)>& take);

class Writer {
  public:
    // One file at `path`, or parts beside it: a path of DIR/STEM.gguf gives DIR/STEM-NNNNN-of-MMMMM.gguf.
    explicit Writer(std::string path);

    // Sets a key, at its place where it is there already. general.alignment, a u32 and a power of two, rules the
    // layout.
    void set(std::string_view key, Value value);
    void remove(std::string_view key);
    const std::vector<KeyValue>& metadata() const { return metadata_; }
    uint32_t alignment() const;

    void add_tensor(TensorSpec tensor);
    const std::vector<TensorSpec>& tensors() const { return tensors_; }
    uint64_t data_bytes() const;  // of all tensors, without padding

    // At most one of these, before begin(). Where a single part comes of it, it is a plain file at `path`.
    void split(const SplitLimits& limits);
    // Numbers below n_parts, none below the one before it. A part may have no tensors: others' tools write a first one
    // of metadata alone.
    void split(std::vector<uint32_t> part_of_tensor, uint32_t n_parts);

    struct PlannedPart {
        std::string path;
        size_t first_tensor = 0;
        size_t n_tensors = 0;
        uint64_t header_bytes = 0;  // padding included
        uint64_t data_bytes = 0;    // padding included

        uint64_t file_bytes() const { return header_bytes + data_bytes; }
    };
    // The files that begin() would start: for dry runs, and to tell a user. Refuses what begin() refuses but a limit on
    // open files.
    std::vector<PlannedPart> plan() const;

    // From here on an output that is one of the source's files, by whatever name, is refused.
    void protect(const Gguf& source);

    // Every part holds all metadata; parts of several also say split.no and split.count (u16) and split.tensors.count
    // (i32).
    void begin();
    // Tensors come in the order they were added in; the name is there to catch a caller who is out of step.
    void begin_tensor(std::string_view name);
    void write(std::span<const std::byte> bytes);
    // Room for the next bytes of the current tensor, for fill() before commit(). Rooms are given in order, by one
    // thread at a time; any threads may fill them, in any order and at once.
    struct Room {
        AtomicFile* file = nullptr;
        uint64_t offset = 0, n_bytes = 0;
    };
    Room reserve(uint64_t n_bytes);
    void fill(const Room& room, std::span<const std::byte> bytes);
    // The tensor's bytes as they stand in another file, read by position; for the current tensor, in whole.
    // `copied` hears of each piece.
    void write_copy(const Gguf& source, const TensorInfo& tensor, const std::function<void(uint64_t)>& copied = {});
    void commit();

  private:
    // The part of each tensor, and how many parts there are.
    std::pair<std::vector<uint32_t>, uint32_t> assignment() const;
    std::vector<KeyValue> part_metadata(uint32_t part, uint32_t n_parts) const;
    void start_part(uint32_t part);
    void end_tensor();

    std::string path_;
    std::vector<KeyValue> metadata_;
    std::map<std::string, size_t, std::less<>> key_places_;  // in metadata_
    std::vector<TensorSpec> tensors_;
    std::set<std::string, std::less<>> names_;
    SplitLimits limits_;
    std::vector<uint32_t> part_of_tensor_;
    uint32_t n_parts_ = 0;  // of part_of_tensor_; 0: by limits_
    std::vector<const Gguf*> sources_;

    bool begun_ = false;
    std::vector<PlannedPart> plan_;  // from begin() on
    std::vector<AtomicFile> files_;  // one a part
    size_t part_ = 0;                // of the current tensor
    size_t n_begun_ = 0;             // tensors; the current one is the last of them
    uint64_t missing_ = 0;           // bytes of the current tensor still to come
    uint64_t unfilled_ = 0;          // bytes of all rooms that were reserved and not filled; atomic
};

}  // namespace minfer::gguf
