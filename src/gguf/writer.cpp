#include "gguf/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "gguf/split_name.h"

namespace minfer::gguf {
namespace {

constexpr size_t kCopyBytes = size_t(1) << 20, kGatheredBytes = size_t(1) << 16;
constexpr uint32_t kMaxParts = 65535;  // split.count is a u16
constexpr std::string_view kAlignmentKey = "general.alignment";

uint32_t dimensions_but_trailing_ones(const std::array<uint64_t, kMaxDims>& ne) {
    uint32_t n = kMaxDims;
    while (n > 1 && ne[n - 1] == 1) --n;
    return n;
}

uint64_t padded(uint64_t bytes, uint32_t alignment) {
    const auto up = checked_align_up(bytes, alignment);
    if (!up) throw Error(fmt::format("{} bytes padded to {} are more than 64 bits count", bytes, alignment));
    return *up;
}

void check(const TensorSpec& tensor) {
    const std::string what = "tensor " + in_quotes(tensor.name);
    if (tensor.name.empty() || tensor.name.size() > kMaxNameBytes)
        throw Error(fmt::format("{}: a name of {} bytes, expected 1 to {}", what, tensor.name.size(), kMaxNameBytes));
    if (tensor.name.find('\0') != std::string::npos) throw Error(what + ": a NUL byte in its name");
    for (uint32_t d = 0; d < kMaxDims; ++d)
        if (tensor.ne[d] == 0) throw Error(fmt::format("{}: dimension {} is 0, expected at least 1", what, d));
    const uint32_t least = dimensions_but_trailing_ones(tensor.ne);
    if (tensor.n_dims != 0 && (tensor.n_dims < least || tensor.n_dims > kMaxDims))
        throw Error(fmt::format("{}: {} dimensions, expected {} to {}", what, tensor.n_dims, least, kMaxDims));
    if (tensor.ne[0] % block_size(tensor.type) != 0)
        throw ShapeError(fmt::format("{}: rows of {} values, expected a multiple of {}, the block of {}", what,
                                     tensor.ne[0], block_size(tensor.type), type_name(tensor.type)));
    tensor.nbytes();
}

class HeaderBytes {
  public:
    explicit HeaderBytes(const std::function<void(std::span<const std::byte>)>& take) : take_(take) {}

    template <typename T>
    void number(T value) {
        append(std::as_bytes(std::span(&value, 1)));
    }
    void string(std::string_view text) {
        number(uint64_t(text.size()));
        append(std::as_bytes(std::span(text)));
    }
    void append(std::span<const std::byte> bytes) {
        take_(bytes);
        count_ += bytes.size();
    }
    uint64_t count() const { return count_; }

  private:
    const std::function<void(std::span<const std::byte>)>& take_;
    uint64_t count_ = 0;
};

void encode(HeaderBytes& out, const KeyValue& entry) {
    out.string(entry.key);
    out.number(uint32_t(entry.value.type()));
    if (entry.value.is_array()) {
        out.number(uint32_t(entry.value.item_type()));
        out.number(entry.value.count());
    } else if (entry.value.type() == ValueType::String) {
        out.number(uint64_t(entry.value.bytes().size()));
    }
    out.append(entry.value.bytes());
}

}  // namespace

uint64_t TensorSpec::nbytes() const {
    uint64_t rows = 1;
    for (uint32_t d = 1; d < kMaxDims; ++d) {
        const auto product = checked_mul(rows, ne[d]);
        if (!product) throw ShapeError(fmt::format("tensor {}: more rows than 64 bits count", in_quotes(name)));
        rows = *product;
    }
    const auto bytes = checked_mul(rows, row_bytes(type, ne[0]));
    if (!bytes || *bytes > uint64_t(INT64_MAX))
        throw ShapeError(fmt::format("tensor {}: 2^63 bytes or more", in_quotes(name)));
    return *bytes;
}

TensorSpec spec_of(const TensorInfo& tensor) { return {tensor.name, tensor.ne, tensor.type, tensor.n_dims}; }

std::vector<uint32_t> split_assignment(std::span<const TensorSpec> tensors, uint32_t alignment,
                                       const SplitLimits& limits) {
    if (limits.max_bytes == 0 || limits.max_tensors == 0)
        throw Error("a part must hold at least one byte and one tensor");
    std::vector<uint32_t> parts;
    parts.reserve(tensors.size());
    uint32_t part = 0;
    uint64_t bytes = 0, count = 0;  // in the current part
    for (const TensorSpec& tensor : tensors) {
        const uint64_t size = padded(tensor.nbytes(), alignment);
        if (size > limits.max_bytes)
            throw Error(fmt::format(
                "GGUF split: tensor '{}' is {} bytes, larger than the {}-byte part cap — a tensor cannot be "
                "split across parts; raise --split-max-size (at least {} bytes) or use a smaller-capable format",
                tensor.name, size, limits.max_bytes, size));
        if (count > 0 && (size > limits.max_bytes - bytes || count == limits.max_tensors)) {
            ++part;
            bytes = count = 0;
        }
        bytes += size;
        ++count;
        parts.push_back(part);
    }
    if (part >= kMaxParts)
        throw Error(fmt::format("GGUF split: {} parts, more than {}; raise the limits of a part", part + 1, kMaxParts));
    return parts;
}

uint64_t encode_header(std::span<const KeyValue> metadata, std::span<const TensorSpec> tensors, uint32_t alignment,
                       const std::function<void(std::span<const std::byte>)>& take) {
    HeaderBytes out(take);
    out.append(std::as_bytes(std::span<const char>("GGUF", 4)));
    out.number(kVersion);
    out.number(int64_t(tensors.size()));
    out.number(int64_t(metadata.size()));
    for (const KeyValue& entry : metadata) encode(out, entry);
    uint64_t offset = 0;
    for (const TensorSpec& tensor : tensors) {
        const uint32_t n_dims = tensor.n_dims != 0 ? tensor.n_dims : dimensions_but_trailing_ones(tensor.ne);
        out.string(tensor.name);
        out.number(n_dims);
        for (uint32_t d = 0; d < n_dims; ++d) out.number(int64_t(tensor.ne[d]));
        out.number(uint32_t(tensor.type));
        out.number(offset);
        const auto next = checked_add(offset, padded(tensor.nbytes(), alignment));
        if (!next) throw Error("the tensors together have more bytes than 64 bits count");
        offset = *next;
    }
    return out.count();
}

Writer::Writer(std::string path) : path_(std::move(path)) {}

void Writer::set(std::string_view key, Value value) {
    if (begun_) throw Error("metadata after begin()");
    if (key.empty()) throw Error("an empty metadata key");
    const auto [place, is_new] = key_places_.try_emplace(std::string(key), metadata_.size());
    if (is_new)
        metadata_.push_back({std::string(key), std::move(value)});
    else
        metadata_[place->second].value = std::move(value);
}

void Writer::remove(std::string_view key) {
    if (begun_) throw Error("metadata after begin()");
    const auto place = key_places_.find(key);
    if (place == key_places_.end()) return;
    const size_t at = place->second;
    metadata_.erase(metadata_.begin() + ptrdiff_t(at));
    key_places_.erase(place);
    for (auto& [other, its_place] : key_places_)
        if (its_place > at) --its_place;
}

uint32_t Writer::alignment() const {
    const auto place = key_places_.find(kAlignmentKey);
    if (place == key_places_.end()) return kDefaultAlignment;
    const Value& value = metadata_[place->second].value;
    const auto alignment = value.as<uint32_t>();
    if (value.type() != ValueType::U32 || !alignment || !std::has_single_bit(*alignment))
        throw Error(
            fmt::format("key '{}' is {}, expected a u32 that is a power of two", kAlignmentKey, value.describe()));
    return *alignment;
}

void Writer::add_tensor(TensorSpec tensor) {
    if (begun_) throw Error("a tensor after begin()");
    check(tensor);
    if (!names_.insert(tensor.name).second)
        throw Error(fmt::format("tensor {}: its name is there already", in_quotes(tensor.name)));
    tensors_.push_back(std::move(tensor));
}

uint64_t Writer::data_bytes() const {
    uint64_t sum = 0;
    for (const TensorSpec& tensor : tensors_) sum += tensor.nbytes();
    return sum;
}

void Writer::split(const SplitLimits& limits) { limits_ = limits; }

void Writer::split(std::vector<uint32_t> part_of_tensor, uint32_t n_parts) {
    part_of_tensor_ = std::move(part_of_tensor);
    n_parts_ = n_parts;
}

std::pair<std::vector<uint32_t>, uint32_t> Writer::assignment() const {
    if (n_parts_ == 0) {
        std::vector<uint32_t> parts = split_assignment(tensors_, alignment(), limits_);
        const uint32_t n_parts = parts.empty() ? 1 : parts.back() + 1;
        return {std::move(parts), n_parts};
    }
    if (part_of_tensor_.size() != tensors_.size() || n_parts_ > kMaxParts)
        throw Error(fmt::format("{}: {} parts of {} tensors for {} tensors", path_, n_parts_, part_of_tensor_.size(),
                                tensors_.size()));
    if (!std::ranges::is_sorted(part_of_tensor_) || (!tensors_.empty() && part_of_tensor_.back() >= n_parts_))
        throw Error(fmt::format("{}: tensors that are not in the order of their {} parts", path_, n_parts_));
    return {part_of_tensor_, n_parts_};
}

std::vector<KeyValue> Writer::part_metadata(uint32_t part, uint32_t n_parts) const {
    std::vector<KeyValue> metadata = metadata_;
    std::erase_if(metadata, [](const KeyValue& entry) { return is_split_key(entry.key); });
    if (n_parts == 1) return metadata;
    metadata.push_back({std::string(kSplitNoKey), Value::scalar(uint16_t(part))});
    metadata.push_back({std::string(kSplitCountKey), Value::scalar(uint16_t(n_parts))});
    metadata.push_back({std::string(kSplitTensorsCountKey), Value::scalar(int32_t(tensors_.size()))});
    return metadata;
}

std::vector<Writer::PlannedPart> Writer::plan() const {
    const auto [parts, n_parts] = assignment();
    if (n_parts > 1 && tensors_.size() > size_t(INT32_MAX))
        throw Error("more tensors than split.tensors.count can say");
    std::string_view prefix = path_;
    if (prefix.ends_with(".gguf")) prefix.remove_suffix(5);
    std::vector<PlannedPart> plan(n_parts);
    for (size_t i = 0; i < parts.size(); ++i) {
        PlannedPart& part = plan[parts[i]];
        ++part.n_tensors;
        part.data_bytes += padded(tensors_[i].nbytes(), alignment());
    }
    for (uint32_t i = 0; i < n_parts; ++i) {
        if (i > 0) plan[i].first_tensor = plan[i - 1].first_tensor + plan[i - 1].n_tensors;
        plan[i].path = n_parts == 1 ? path_ : split_name(prefix, i, n_parts);
        const auto tensors = std::span(tensors_).subspan(plan[i].first_tensor, plan[i].n_tensors);
        for (const Gguf* source : sources_)
            for (size_t k = 0; k < source->parts().size(); ++k)
                if (!begun_ && source->file(k).is_same_file(plan[i].path))
                    throw Error(fmt::format("{} is both input and output; write to another path", plan[i].path));
        const auto count = [](std::span<const std::byte>) {};
        plan[i].header_bytes =
            padded(encode_header(part_metadata(i, n_parts), tensors, alignment(), count), alignment());
    }
    return plan;
}

void Writer::protect(const Gguf& source) { sources_.push_back(&source); }

void Writer::begin() {
    if (begun_) throw Error("begin() a second time");
    plan_ = plan();
    // Parts are open until all are whole: a file without a name is gone once it is closed.
    if (!allow_more_open_files(plan_.size()))
        throw Error(
            fmt::format("{} parts are open until the last is written, more than the files this process may open "
                        "(ulimit -n); write larger parts, or raise that limit",
                        plan_.size()));
    begun_ = true;
    // All at once: a path that cannot be written to is better known before the work than after it.
    files_.reserve(plan_.size());
    for (const PlannedPart& part : plan_) files_.emplace_back(part.path);
    for (uint32_t i = 0; i < plan_.size(); ++i) start_part(i);
}

void Writer::start_part(uint32_t i) {
    const PlannedPart& part = plan_[i];
    AtomicFile& file = files_[i];
    std::vector<std::byte> gathered;  // a header comes in pieces of a few bytes
    const auto write_gathered = [&] {
        file.write(gathered);
        gathered.clear();
    };
    encode_header(part_metadata(i, uint32_t(plan_.size())),
                  std::span(tensors_).subspan(part.first_tensor, part.n_tensors), alignment(),
                  [&](std::span<const std::byte> bytes) {
                      if (gathered.size() + bytes.size() > kGatheredBytes) write_gathered();
                      if (bytes.size() > kGatheredBytes)
                          file.write(bytes);
                      else
                          gathered.insert(gathered.end(), bytes.begin(), bytes.end());
                  });
    write_gathered();
    file.write_zeros(part.header_bytes - file.position());
}

void Writer::end_tensor() {
    if (n_begun_ == 0) return;
    const TensorSpec& tensor = tensors_[n_begun_ - 1];
    if (missing_ != 0)
        throw Error(fmt::format("tensor {}: {} bytes, expected {}", in_quotes(tensor.name), tensor.nbytes() - missing_,
                                tensor.nbytes()));
    files_[part_].write_zeros(padded(tensor.nbytes(), alignment()) - tensor.nbytes());
}

void Writer::begin_tensor(std::string_view name) {
    if (!begun_) throw Error("a tensor's bytes before begin()");
    end_tensor();
    if (n_begun_ == tensors_.size() || tensors_[n_begun_].name != name)
        throw Error(fmt::format("tensor {} is out of turn, expected {}", in_quotes(name),
                                n_begun_ == tensors_.size() ? "no more" : in_quotes(tensors_[n_begun_].name)));
    while (n_begun_ == plan_[part_].first_tensor + plan_[part_].n_tensors) ++part_;
    missing_ = tensors_[n_begun_].nbytes();
    ++n_begun_;
}

Writer::Room Writer::reserve(uint64_t n_bytes) {
    if (n_begun_ == 0) throw Error("bytes before begin_tensor()");
    if (n_bytes > missing_) {
        const TensorSpec& tensor = tensors_[n_begun_ - 1];
        throw Error(fmt::format("tensor {}: {} bytes or more, expected {}", in_quotes(tensor.name),
                                tensor.nbytes() - missing_ + n_bytes, tensor.nbytes()));
    }
    missing_ -= n_bytes;
    std::atomic_ref(unfilled_) += n_bytes;
    return {&files_[part_], files_[part_].reserve(n_bytes), n_bytes};
}

void Writer::fill(const Room& room, std::span<const std::byte> bytes) {
    if (bytes.size() != room.n_bytes)
        throw Error(fmt::format("{} bytes for the room of {}", bytes.size(), room.n_bytes));
    room.file->pwrite(room.offset, bytes);
    std::atomic_ref(unfilled_) -= room.n_bytes;
}

void Writer::write(std::span<const std::byte> bytes) { fill(reserve(bytes.size()), bytes); }

void Writer::write_copy(const Gguf& source, const TensorInfo& tensor, const std::function<void(uint64_t)>& copied) {
    std::vector<std::byte> buffer(size_t(std::min<uint64_t>(kCopyBytes, tensor.nbytes)));
    for (uint64_t at = 0; at < tensor.nbytes;) {
        const auto piece = std::span(buffer).first(size_t(std::min<uint64_t>(buffer.size(), tensor.nbytes - at)));
        source.read(tensor, at, piece);
        write(piece);
        at += piece.size();
        if (copied) copied(piece.size());
    }
}

void Writer::commit() {
    if (!begun_) throw Error("commit() before begin()");
    end_tensor();
    if (n_begun_ != tensors_.size())
        throw Error(fmt::format("{} tensors were written, expected {}; the next is {}", n_begun_, tensors_.size(),
                                in_quotes(tensors_[n_begun_].name)));
    if (unfilled_ != 0) throw Error(fmt::format("{} bytes were reserved and not filled", unfilled_));
    for (AtomicFile& file : files_) file.flush();
    AtomicFile::publish_together(files_);  // the first part last: it is the one that a model is opened by
    files_.front().flush_folder();
}

}  // namespace minfer::gguf
