// Reading GGUF files, version 3: metadata, the tensor index, and the tensors' bytes. A file in several parts is one
// index.
//
// A file is hostile until checked. Every count, length, offset, product and sum is held against the file's size before
// it is used; what does not hold is a FormatError naming the key or tensor, what was found and the bound. The layout is
// the one that llama.cpp loads: tensors in order of their offsets, each at the padded end of the one before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "gguf/types.h"
#include "gguf/value.h"

namespace minfer::gguf {

constexpr uint32_t kVersion = 3;
constexpr uint32_t kDefaultAlignment = 32;
constexpr size_t kMaxNameBytes = 63;  // of a tensor's name
constexpr uint32_t kMaxDims = 4;

struct TensorInfo {
    std::string name;
    std::array<uint64_t, kMaxDims> ne = {1, 1, 1, 1};  // values along each dimension; ne[0] is the row length
    uint32_t n_dims = 1;                               // as written; dimensions past it are 1
    TensorType type = TensorType::F32;
    uint64_t offset = 0;  // of its bytes in its part's file, from the file's start
    uint64_t nbytes = 0;
    size_t part = 0;  // index into Gguf::parts()

    uint64_t n_values() const { return ne[0] * ne[1] * ne[2] * ne[3]; }
    uint64_t n_rows() const { return ne[1] * ne[2] * ne[3]; }
    uint64_t row_nbytes() const { return nbytes / n_rows(); }
};

// What stands before the tensors' bytes in one file.
struct Header {
    uint32_t alignment = kDefaultAlignment;
    uint64_t data_offset = 0;  // where the tensors' bytes start
    std::vector<KeyValue> metadata;
    std::vector<TensorInfo> tensors;
};

// Parses the header of a file of `file_size` bytes from memory. `bytes` is the file's beginning; a header that goes on
// after it is an error, as at a file's end. `path` is for messages.
Header parse_header(std::span<const std::byte> bytes, uint64_t file_size, const std::string& path);
// Reads it from the file by positioned reads.
Header read_header(const File& file);

struct Part {
    std::string path;
    uint64_t size = 0;  // bytes of the file
    uint64_t data_offset = 0;
    uint32_t alignment = kDefaultAlignment;
    size_t n_tensors = 0;
};

class Gguf {
  public:
    enum class Access { Read, Map };  // Map also maps the files, for data()

    // Opens a file, and with the first file of several parts all of them. Throws IoError and FormatError.
    static Gguf open(const std::string& path, Access access = Access::Map);
    // Opens this one file, whatever its split.* keys say.
    static Gguf open_part(const std::string& path, Access access = Access::Read);

    const std::string& path() const { return parts_.front().path; }
    const std::vector<Part>& parts() const { return parts_; }
    uint32_t alignment() const { return parts_.front().alignment; }
    uint64_t file_size() const;  // of all parts together

    // The metadata of the first part, in the file's order.
    const std::vector<KeyValue>& metadata() const { return metadata_; }
    const Value* find(std::string_view key) const;
    bool has(std::string_view key) const { return find(key) != nullptr; }
    // The value as T (Value::as says which T there are). A missing key and a value of another kind are FormatErrors.
    template <typename T>
    T get(std::string_view key) const;
    // Nothing where the key is missing; a value of another kind is a FormatError.
    template <typename T>
    std::optional<T> get_if(std::string_view key) const;
    template <typename T>
    T get_or(std::string_view key, T otherwise) const {
        return get_if<T>(key).value_or(std::move(otherwise));
    }
    std::string_view architecture() const { return get<std::string_view>("general.architecture"); }

    // All parts' tensors, in order of the parts and within them of the files.
    const std::vector<TensorInfo>& tensors() const { return tensors_; }
    const TensorInfo* find_tensor(std::string_view name) const;
    const TensorInfo& tensor(std::string_view name) const;  // throws FormatError where there is none

    // The tensor's bytes in the mapping, aligned as its file says; valid as long as this object. Needs Access::Map.
    std::span<const std::byte> data(const TensorInfo& tensor) const;
    const MappedFile& mapping(size_t part) const { return mappings_.at(part); }
    // Gives whole pages of these bytes of a mapping back to the system, for what has been copied out of them. Whoever
    // touches them again reads the file again.
    void release(std::span<const std::byte> bytes) const;

    // Copies bytes [offset, offset + out.size()) of the tensor by a positioned read: a disk error is an IoError.
    void read(const TensorInfo& tensor, uint64_t offset, std::span<std::byte> out) const;
    const File& file(size_t part) const { return files_.at(part); }

  private:
    Gguf() = default;
    // Adds the file's tensors and gives its metadata.
    std::vector<KeyValue> add_part(const std::string& path, Access access);
    void index();  // after the last part
    [[noreturn]] void missing(std::string_view key) const;

    std::vector<Part> parts_;
    std::vector<File> files_;
    std::vector<MappedFile> mappings_;  // empty with Access::Read
    std::vector<KeyValue> metadata_;
    std::vector<TensorInfo> tensors_;
    std::vector<uint32_t> by_name_;  // indices of tensors_ in the order of their names
    std::vector<uint32_t> by_key_;   // indices of metadata() in the order of their keys
};

template <typename T>
std::optional<T> Gguf::get_if(std::string_view key) const {
    const Value* value = find(key);
    if (!value) return std::nullopt;
    std::optional<T> converted = value->as<T>();
    if (!converted) throw FormatError(path(), "key " + in_quotes(key), value->describe(), expected_value<T>());
    return converted;
}

template <typename T>
T Gguf::get(std::string_view key) const {
    std::optional<T> value = get_if<T>(key);
    if (!value) missing(key);
    return *std::move(value);
}

}  // namespace minfer::gguf
