// Parsing of one file's header.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/checked.h"
#include "gguf/reader.h"

namespace minfer::gguf {
namespace {

// A string or array longer than this is refused, as llama.cpp does: no model has one, and a sparse file could.
constexpr uint64_t kMaxMetadataItems = uint64_t(1) << 30;
constexpr uint64_t kMaxMetadataBytes = uint64_t(1) << 30;
constexpr size_t kPieceBytes = size_t(1) << 20;
// The least bytes that an entry can take, for a bound on the number of them.
constexpr uint64_t kMinKeyValueBytes = 8 + 1 + 4 + 1;
constexpr uint64_t kMinTensorInfoBytes = 8 + 1 + 4 + 8 + 4 + 8;

constexpr std::string_view kAlignmentKey = "general.alignment";

// What is being read, put into words only when it fails: "key 'general.name', length", "tensor 3, name".
struct Field {
    std::string_view kind;  // or the whole of it: "magic"
    std::string_view name = {};
    std::optional<uint64_t> number = {};  // where there is no name yet
    std::string_view part = {};
    std::optional<uint64_t> part_number = {};

    Field of(std::string_view what, std::optional<uint64_t> which = {}) const {
        return {kind, name, number, what, which};
    }
    std::string text() const {
        std::string out(kind);
        if (number) out += fmt::format(" {}", *number);
        if (!name.empty()) out += " " + in_quotes(name);
        if (!part.empty()) out += fmt::format(", {}", part);
        if (part_number) out += fmt::format(" {}", *part_number);
        return out;
    }
};

// The bytes of the file in order, with a count of those that are left.
class Source {
  public:
    Source(uint64_t file_size, std::string path) : left_(file_size), path_(std::move(path)) {}
    virtual ~Source() = default;
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;

    const std::string& path() const { return path_; }
    uint64_t position() const { return position_; }
    const Budget& left() const { return left_; }

    // Fills `out`, or fails naming `field`.
    void read(std::span<std::byte> out, const Field& field) {
        if (out.size() > window_.size() && !(left_.covers(out.size()) && read_past_window(out))) cut(out.size(), field);
        if (out.size() <= window_.size()) {
            std::ranges::copy(window_.first(out.size()), out.begin());
            window_ = window_.subspan(out.size());
        }
        left_.spend(out.size());
        position_ += out.size();
    }

    template <typename T>
    T read(const Field& field) {
        T value;
        read(std::as_writable_bytes(std::span(&value, 1)), field);
        return value;
    }

    std::vector<std::byte> read_bytes(uint64_t count, const Field& field) {
        if (!left_.covers(count)) cut(count, field);
        if (count > kMaxMetadataBytes)
            fail(field, fmt::format("{} bytes", count), fmt::format("at most {}", kMaxMetadataBytes));
        std::vector<std::byte> bytes;
        append(bytes, count, field);
        return bytes;
    }

    // Reads `count` more bytes to the end of `bytes`. Memory is taken as they arrive, not as they are promised.
    void append(std::vector<std::byte>& bytes, uint64_t count, const Field& field) {
        while (count > 0) {
            const auto piece = size_t(std::min<uint64_t>(count, kPieceBytes));
            bytes.resize(bytes.size() + piece);
            read(std::span(bytes).last(piece), field);
            count -= piece;
        }
    }

    [[noreturn]] void fail(const Field& field, const std::string& found, const std::string& expected) const {
        throw FormatError(path_, field.text(), found, expected);
    }
    [[noreturn]] void cut(uint64_t wanted, const Field& field) const {
        fail(field, fmt::format("{} bytes left at {}", left_.left(), position_), fmt::format("{}", wanted));
    }

  protected:
    std::span<const std::byte> window_;  // bytes from position() on that are at hand

  private:
    // Either makes the window cover `out`, or fills `out` itself and leaves the window empty; false where the bytes are
    // not there.
    virtual bool read_past_window(std::span<std::byte> out) = 0;

    Budget left_;
    std::string path_;
    uint64_t position_ = 0;
};

class MemorySource : public Source {
  public:
    MemorySource(std::span<const std::byte> bytes, uint64_t file_size, const std::string& path)
        : Source(file_size, path) {
        window_ = bytes.first(size_t(std::min<uint64_t>(bytes.size(), file_size)));
    }

  private:
    bool read_past_window(std::span<std::byte>) override { return false; }
};

// Reads ahead, since a header is read in pieces of a few bytes.
class FileSource : public Source {
  public:
    explicit FileSource(const File& file) : Source(file.size(), file.path()), file_(file), buffer_(kBufferBytes) {}

  private:
    static constexpr size_t kBufferBytes = size_t(1) << 18;

    bool read_past_window(std::span<std::byte> out) override {
        if (out.size() > kBufferBytes) {
            window_ = {};
            file_.pread_exact(position(), out);
            return true;
        }
        const auto ahead = std::span(buffer_).first(size_t(std::min<uint64_t>(kBufferBytes, left().left())));
        file_.pread_exact(position(), ahead);
        window_ = ahead;
        return true;
    }

    const File& file_;
    std::vector<std::byte> buffer_;
};

std::string read_string(Source& source, const Field& field) {
    const auto length = source.read<uint64_t>(field.of("length"));
    const std::vector<std::byte> bytes = source.read_bytes(length, field);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void check_version(Source& source) {
    constexpr Field kMagic{"magic"}, kVersionField{"version"};
    const auto magic = source.read<std::array<char, 4>>(kMagic);
    const std::string_view text(magic.data(), magic.size());
    if (text == "FUGG") source.fail(kMagic, "'FUGG' (a big-endian file)", "'GGUF'");
    if (text != "GGUF") source.fail(kMagic, in_quotes(text), "'GGUF'");
    const auto version = source.read<uint32_t>(kVersionField);
    if (version == kVersion) return;
    std::string found = fmt::format("{}", version);
    std::string expected = "3";
    if (version == 1 || version == 2) expected += ", the only one that minfer reads; a newer copy of the model has it";
    if (version != 0 && (version & 0xffff) == 0) {
        found = fmt::format("{:#x} (a big-endian file)", version);
        expected += ", little-endian";
    }
    source.fail(kVersionField, found, expected);
}

uint64_t read_count(Source& source, const Field& field, uint64_t min_bytes) {
    const auto count = source.read<int64_t>(field);
    const uint64_t most = source.left().left() / min_bytes;
    if (count < 0 || !source.left().covers(uint64_t(count), min_bytes))
        source.fail(field, fmt::format("{}", count),
                    fmt::format("0 to {}, for the {} bytes left", most, source.left().left()));
    return uint64_t(count);
}

ValueType read_value_type(Source& source, const Field& field) {
    const auto number = source.read<uint32_t>(field);
    const auto type = value_type(number);
    if (!type) source.fail(field, fmt::format("{}", number), "a metadata type, 0 to 12");
    return *type;
}

// The bytes of an array of strings, each length checked. Their number is bounded by the bytes that are there.
std::vector<std::byte> read_strings(Source& source, uint64_t count, const Field& key) {
    std::vector<std::byte> bytes;
    for (uint64_t i = 0; i < count; ++i) {
        const Field field = key.of("item", i);
        const auto length = source.read<uint64_t>(key.of("length of item", i));
        if (!source.left().covers(length)) source.cut(length, field);
        if (length > kMaxMetadataBytes - bytes.size())
            source.fail(key, fmt::format("more than {} bytes of strings", kMaxMetadataBytes), "fewer");
        const auto prefix = std::as_bytes(std::span(&length, 1));
        bytes.insert(bytes.end(), prefix.begin(), prefix.end());
        source.append(bytes, length, field);
    }
    return bytes;
}

Value read_array(Source& source, const Field& key) {
    const ValueType item = read_value_type(source, key.of("item type"));
    if (item == ValueType::Array) source.fail(key, "an array of arrays", "an array of scalars or strings");
    const auto count = source.read<uint64_t>(key.of("count"));
    const uint64_t size = item == ValueType::String ? sizeof(uint64_t) : value_size(item);  // at least
    if (!source.left().covers(count, size))
        source.fail(
            key.of("count"), fmt::format("{}", count),
            fmt::format("at most {}, for the {} bytes left", source.left().left() / size, source.left().left()));
    if (count > kMaxMetadataItems)
        source.fail(key.of("count"), fmt::format("{}", count), fmt::format("at most {}", kMaxMetadataItems));
    std::vector<std::byte> bytes =
        item == ValueType::String ? read_strings(source, count, key) : source.read_bytes(count * size, key);
    if (item == ValueType::Bool)
        for (const std::byte b : bytes)
            if (b > std::byte{1}) source.fail(key, fmt::format("a bool of {}", unsigned(b)), "0 or 1");
    return Value::raw_array(item, count, std::move(bytes));
}

Value read_value(Source& source, const Field& key) {
    const ValueType type = read_value_type(source, key.of("type"));
    switch (type) {
        case ValueType::U8:
            return Value::scalar(source.read<uint8_t>(key));
        case ValueType::I8:
            return Value::scalar(source.read<int8_t>(key));
        case ValueType::U16:
            return Value::scalar(source.read<uint16_t>(key));
        case ValueType::I16:
            return Value::scalar(source.read<int16_t>(key));
        case ValueType::U32:
            return Value::scalar(source.read<uint32_t>(key));
        case ValueType::I32:
            return Value::scalar(source.read<int32_t>(key));
        case ValueType::F32:
            return Value::scalar(source.read<float>(key));
        case ValueType::U64:
            return Value::scalar(source.read<uint64_t>(key));
        case ValueType::I64:
            return Value::scalar(source.read<int64_t>(key));
        case ValueType::F64:
            return Value::scalar(source.read<double>(key));
        case ValueType::String:
            return Value::string(read_string(source, key));
        case ValueType::Array:
            return read_array(source, key);
        case ValueType::Bool:
            break;
    }
    const auto byte = source.read<uint8_t>(key);
    if (byte > 1) source.fail(key, fmt::format("a bool of {}", byte), "0 or 1");
    return Value::scalar(byte == 1);
}

std::vector<KeyValue> read_metadata(Source& source, uint64_t n_kv) {
    std::vector<KeyValue> metadata;
    std::set<std::string> seen;
    for (uint64_t i = 0; i < n_kv; ++i) {
        const Field field{.kind = "key", .number = i};
        std::string key = read_string(source, field);
        if (key.empty()) source.fail(field, "an empty key", "a name");
        if (!seen.insert(key).second)
            source.fail(field, fmt::format("{} a second time", in_quotes(key)), "each key once");
        Value value = read_value(source, Field{.kind = "key", .name = key});
        metadata.push_back({std::move(key), std::move(value)});
    }
    return metadata;
}

uint32_t alignment_of(const Source& source, const std::vector<KeyValue>& metadata) {
    const auto at = std::ranges::find(metadata, kAlignmentKey, &KeyValue::key);
    if (at == metadata.end()) return kDefaultAlignment;
    constexpr Field field{.kind = "key", .name = kAlignmentKey};
    const auto alignment = at->value.as<uint32_t>();
    if (!alignment || at->value.type() != ValueType::U32) source.fail(field, at->value.describe(), "a u32");
    if (!std::has_single_bit(*alignment)) source.fail(field, fmt::format("{}", *alignment), "a power of two");
    return *alignment;
}

// Shape, type and size; the offset is still the one from the start of the data.
TensorInfo read_tensor_info(Source& source, uint64_t index) {
    TensorInfo t;
    const Field unnamed{.kind = "tensor", .number = index};
    const auto length = source.read<uint64_t>(unnamed.of("length of its name"));
    if (length == 0 || length > kMaxNameBytes)
        source.fail(unnamed, fmt::format("a name of {} bytes", length), fmt::format("1 to {}", kMaxNameBytes));
    t.name.resize(size_t(length));
    source.read(std::as_writable_bytes(std::span(t.name)), unnamed.of("name"));
    const Field field{.kind = "tensor", .name = t.name};
    if (t.name.find('\0') != std::string::npos) source.fail(field, "a NUL byte in its name", "none");

    t.n_dims = source.read<uint32_t>(field.of("number of dimensions"));
    if (t.n_dims == 0 || t.n_dims > kMaxDims)
        source.fail(field, fmt::format("{} dimensions", t.n_dims), fmt::format("1 to {}", kMaxDims));
    uint64_t n_values = 1;
    for (uint32_t d = 0; d < t.n_dims; ++d) {
        const auto extent = source.read<int64_t>(field.of("dimension", d));
        if (extent <= 0) source.fail(field.of("dimension", d), fmt::format("{}", extent), "at least 1");
        t.ne[d] = uint64_t(extent);
        const auto product = checked_mul(n_values, t.ne[d]);
        if (!product || *product > uint64_t(INT64_MAX))
            source.fail(field, fmt::format("{} x {} x {} x {} values or more", t.ne[0], t.ne[1], t.ne[2], t.ne[3]),
                        "fewer than 2^63");
        n_values = *product;
    }

    const auto number = source.read<uint32_t>(field.of("type"));
    const auto type = tensor_type(number);
    if (!type) source.fail(field, "type " + describe_unknown_type(number), "a type of ggml, 0 to 42");
    t.type = *type;
    if (t.ne[0] % block_size(t.type) != 0)
        source.fail(field, fmt::format("rows of {} values", t.ne[0]),
                    fmt::format("a multiple of {}, the block of {}", block_size(t.type), type_name(t.type)));
    const auto nbytes = checked_mul(n_values / block_size(t.type), type_size(t.type));
    if (!nbytes)
        source.fail(field, fmt::format("{} values of {}", n_values, type_name(t.type)), "fewer than 2^64 bytes");
    t.nbytes = *nbytes;
    t.offset = source.read<uint64_t>(field.of("offset"));
    return t;
}

std::vector<TensorInfo> read_tensor_infos(Source& source, uint64_t n_tensors) {
    std::vector<TensorInfo> tensors;
    std::set<std::string> seen;
    for (uint64_t i = 0; i < n_tensors; ++i) {
        tensors.push_back(read_tensor_info(source, i));
        if (!seen.insert(tensors.back().name).second)
            source.fail(Field{.kind = "tensor", .number = i},
                        fmt::format("name {} a second time", in_quotes(tensors.back().name)), "each name once");
    }
    return tensors;
}

// Checks the offsets and makes them count from the file's start.
void place_tensors(const Source& source, uint64_t file_size, Header& header) {
    const auto start = checked_align_up(source.position(), header.alignment);
    if (!start || *start > file_size) {
        if (header.tensors.empty()) {  // without tensors nothing has to follow, padding neither
            header.data_offset = source.position();
            return;
        }
        source.fail(
            Field{"tensor data"}, fmt::format("an end of file at {}", file_size),
            fmt::format("their start at {}, after padding to {}", start.value_or(UINT64_MAX), header.alignment));
    }
    header.data_offset = *start;
    const uint64_t available = file_size - *start;
    uint64_t next = 0;  // where the next tensor has to be: the padded end of the one before
    const TensorInfo* before = nullptr;
    for (TensorInfo& t : header.tensors) {
        const Field field{.kind = "tensor", .name = t.name};
        if (t.offset % header.alignment != 0)
            source.fail(field, fmt::format("offset {}", t.offset), fmt::format("a multiple of {}", header.alignment));
        if (t.offset > available || t.nbytes > available - t.offset)
            source.fail(field, fmt::format("{} bytes at offset {}", t.nbytes, t.offset),
                        fmt::format("an end within the {} bytes of tensor data in the file", available));
        if (t.offset != next) {
            const std::string what = t.offset > next ? "leaves a gap" : "overlaps";
            source.fail(field,
                        fmt::format("offset {}, which {} after {}", t.offset, what,
                                    before ? in_quotes(before->name) : "the start of the data"),
                        fmt::format("{}", next));
        }
        next = checked_align_up(t.offset + t.nbytes, header.alignment).value_or(UINT64_MAX);
        t.offset += *start;
        before = &t;
    }
}

Header parse(Source& source, uint64_t file_size) {
    Header header;
    check_version(source);
    const uint64_t n_tensors = read_count(source, Field{"number of tensors"}, kMinTensorInfoBytes);
    const uint64_t n_kv = read_count(source, Field{"number of metadata keys"}, kMinKeyValueBytes);
    header.metadata = read_metadata(source, n_kv);
    header.alignment = alignment_of(source, header.metadata);
    header.tensors = read_tensor_infos(source, n_tensors);
    place_tensors(source, file_size, header);
    return header;
}

}  // namespace

Header parse_header(std::span<const std::byte> bytes, uint64_t file_size, const std::string& path) {
    MemorySource source(bytes, file_size, path);
    return parse(source, file_size);
}

Header read_header(const File& file) {
    FileSource source(file);
    return parse(source, file.size());
}

}  // namespace minfer::gguf
