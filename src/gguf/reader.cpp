#include "gguf/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>

#include "gguf/split_name.h"

namespace minfer::gguf {
namespace {

const Value* find_in(const std::vector<KeyValue>& metadata, std::string_view key) {
    const auto at = std::ranges::find(metadata, key, &KeyValue::key);
    return at == metadata.end() ? nullptr : &at->value;
}

// The value of a split.* key: an integer of any width that is not negative. Nothing where the key is missing.
std::optional<uint32_t> split_number(const std::string& path, const std::vector<KeyValue>& metadata,
                                     std::string_view key) {
    const Value* value = find_in(metadata, key);
    if (!value) return std::nullopt;
    const auto number = value->as<uint32_t>();
    if (!number) throw FormatError(path, "key " + in_quotes(key), value->describe(), expected_value<uint32_t>());
    return number;
}

// Parts of two models can have names that go together. A part that says more than its place says what the first one
// says, as far as it goes; one with an architecture, as minfer writes them, goes all the way.
class FirstPart {
  public:
    FirstPart(const std::string& path, const std::vector<KeyValue>& metadata) : path_(path) {
        for (const auto& [key, value] : metadata)
            if (!is_split_key(key)) values_.emplace(key, &value);
    }
    void check(const std::string& path, const std::vector<KeyValue>& metadata) const {
        auto unsaid = values_;
        for (const auto& [key, value] : metadata) {
            if (is_split_key(key)) continue;
            const auto mine = unsaid.find(key);
            if (mine == unsaid.end()) refuse(path, key, value.describe(), "no such key");
            if (*mine->second != value) refuse(path, key, value.describe(), mine->second->describe());
            unsaid.erase(mine);
        }
        if (!unsaid.empty() && find_in(metadata, "general.architecture"))
            refuse(path, unsaid.begin()->first, "no such key", unsaid.begin()->second->describe());
    }

  private:
    [[noreturn]] void refuse(const std::string& path, std::string_view key, const std::string& found,
                             const std::string& expected) const {
        throw FormatError(path, "key " + in_quotes(key), found,
                          fmt::format("{}, as in {}: parts of one model", expected, path_));
    }

    std::string path_;
    std::map<std::string_view, const Value*> values_;
};

}  // namespace

std::vector<KeyValue> Gguf::add_part(const std::string& path, Access access) {
    File file = File::open(path);
    Header header = read_header(file);
    parts_.push_back({path, file.size(), header.data_offset, header.alignment, header.tensors.size()});
    for (TensorInfo& tensor : header.tensors) {
        tensor.part = parts_.size() - 1;
        tensors_.push_back(std::move(tensor));
    }
    if (access == Access::Map) mappings_.emplace_back(file);
    files_.push_back(std::move(file));
    return std::move(header.metadata);
}

void Gguf::index() {
    by_key_.resize(metadata_.size());
    std::iota(by_key_.begin(), by_key_.end(), 0u);
    std::ranges::sort(by_key_, {}, [&](uint32_t i) -> const std::string& { return metadata_[i].key; });
    by_name_.resize(tensors_.size());
    std::iota(by_name_.begin(), by_name_.end(), 0u);
    const auto name = [&](uint32_t i) -> const std::string& { return tensors_[i].name; };
    std::ranges::sort(by_name_, [&](uint32_t a, uint32_t b) {
        const int order = name(a).compare(name(b));
        return order != 0 ? order < 0 : a < b;
    });
    const auto twice = std::ranges::adjacent_find(by_name_, {}, name);
    if (twice != by_name_.end()) {
        const TensorInfo &first = tensors_[twice[0]], &second = tensors_[twice[1]];
        throw FormatError(parts_[second.part].path, "tensor " + in_quotes(second.name),
                          "the same name in " + parts_[first.part].path, "each name once");
    }
}

Gguf Gguf::open_part(const std::string& path, Access access) {
    Gguf gguf;
    gguf.metadata_ = gguf.add_part(path, access);
    gguf.index();
    return gguf;
}

Gguf Gguf::open(const std::string& path, Access access) {
    Gguf gguf;
    gguf.metadata_ = gguf.add_part(path, access);
    // A count of 0 is what llama.cpp's merge leaves behind in a whole file.
    const uint32_t count = split_number(path, gguf.metadata_, kSplitCountKey).value_or(0);
    const auto name = parse_split_name(path);
    if (count > 0 && name && name->count != count)
        throw FormatError(path, "key " + in_quotes(kSplitCountKey), fmt::format("{}", count),
                          fmt::format("{}, as the file name says", name->count));
    if (count > 1) {
        const std::string no_field = "key " + in_quotes(kSplitNoKey);
        if (!name)
            throw FormatError(path, "file name", "no -NNNNN-of-MMMMM.gguf at its end",
                              fmt::format("one, as this is a file of {} parts", count));
        const auto first_no = split_number(path, gguf.metadata_, kSplitNoKey);
        if (!first_no) throw FormatError(path, no_field, "no such key", "0, in the first part");
        if (*first_no != 0 || name->index != 0)
            throw FormatError(path, no_field, fmt::format("{}", *first_no),
                              fmt::format("0: open the first part, {}", split_name(name->prefix, 0, count)));
        if (!allow_more_open_files(count))
            throw Error(
                fmt::format("{}: its {} parts are open at once, more than the files this process may open (ulimit -n)",
                            path, count));
        const FirstPart first(path, gguf.metadata_);
        for (uint32_t i = 1; i < count; ++i) {
            const std::string part = split_name(name->prefix, i, count);
            std::error_code ignored;
            if (!std::filesystem::exists(part, ignored))
                throw FormatError(path, "parts", fmt::format("no file {}", part), fmt::format("{} parts", count));
            const std::vector<KeyValue> metadata = gguf.add_part(part, access);
            const auto no = split_number(part, metadata, kSplitNoKey);
            if (no != i)
                throw FormatError(part, no_field, no ? fmt::format("{}", *no) : "no such key", fmt::format("{}", i));
            const uint32_t its_count = split_number(part, metadata, kSplitCountKey).value_or(count);
            if (its_count != count)
                throw FormatError(part, "key " + in_quotes(kSplitCountKey), fmt::format("{}", its_count),
                                  fmt::format("{}, as in {}", count, path));
            first.check(part, metadata);
        }
        const auto n_tensors = split_number(path, gguf.metadata_, kSplitTensorsCountKey);
        if (n_tensors && *n_tensors != gguf.tensors_.size())
            throw FormatError(path, "key " + in_quotes(kSplitTensorsCountKey), fmt::format("{}", *n_tensors),
                              fmt::format("{}, the tensors of all parts", gguf.tensors_.size()));
    }
    gguf.index();
    return gguf;
}

uint64_t Gguf::file_size() const {
    uint64_t sum = 0;
    for (const Part& part : parts_) sum += part.size;
    return sum;
}

const Value* Gguf::find(std::string_view key) const {
    const auto at =
        std::ranges::lower_bound(by_key_, key, {}, [&](uint32_t i) -> std::string_view { return metadata_[i].key; });
    return at != by_key_.end() && metadata_[*at].key == key ? &metadata_[*at].value : nullptr;
}

const TensorInfo* Gguf::find_tensor(std::string_view name) const {
    const auto at =
        std::ranges::lower_bound(by_name_, name, {}, [&](uint32_t i) -> std::string_view { return tensors_[i].name; });
    return at != by_name_.end() && tensors_[*at].name == name ? &tensors_[*at] : nullptr;
}

const TensorInfo& Gguf::tensor(std::string_view name) const {
    const TensorInfo* found = find_tensor(name);
    if (!found) throw FormatError(path(), "tensor " + in_quotes(name), "no such tensor", "one");
    return *found;
}

void Gguf::release(std::span<const std::byte> bytes) const {
    for (const MappedFile& mapping : mappings_) {
        const std::byte* begin = mapping.bytes().data();
        if (bytes.data() < begin || bytes.data() >= begin + mapping.bytes().size()) continue;
        mapping.release(uint64_t(bytes.data() - begin), bytes.size());
    }
}

std::span<const std::byte> Gguf::data(const TensorInfo& tensor) const {
    return mappings_.at(tensor.part).bytes().subspan(size_t(tensor.offset), size_t(tensor.nbytes));
}

void Gguf::read(const TensorInfo& tensor, uint64_t offset, std::span<std::byte> out) const {
    if (offset > tensor.nbytes || out.size() > tensor.nbytes - offset)
        throw ShapeError(fmt::format("{}: tensor {}: bytes {} to {} of {}", parts_.at(tensor.part).path,
                                     in_quotes(tensor.name), offset, offset + out.size(), tensor.nbytes));
    files_.at(tensor.part).pread_exact(tensor.offset + offset, out);
}

void Gguf::missing(std::string_view key) const {
    throw FormatError(path(), "key " + in_quotes(key), "no such key", "one");
}

}  // namespace minfer::gguf
