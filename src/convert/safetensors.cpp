#include "convert/safetensors.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "gguf/value.h"

namespace minfer::convert {
namespace {

namespace dom = simdjson::dom;

struct DtypeInfo {
    std::string_view name;
    Dtype dtype;
    uint64_t bits;
};
constexpr std::array<DtypeInfo, 20> kDtypes = {{
    {"F32", Dtype::F32, 32},      {"F16", Dtype::F16, 16},      {"BF16", Dtype::BF16, 16},
    {"BOOL", Dtype::Other, 8},    {"U8", Dtype::Other, 8},      {"I8", Dtype::Other, 8},
    {"U16", Dtype::Other, 16},    {"I16", Dtype::Other, 16},    {"U32", Dtype::Other, 32},
    {"I32", Dtype::Other, 32},    {"U64", Dtype::Other, 64},    {"I64", Dtype::Other, 64},
    {"F64", Dtype::Other, 64},    {"C64", Dtype::Other, 64},    {"F8_E5M2", Dtype::Other, 8},
    {"F8_E4M3", Dtype::Other, 8}, {"F8_E8M0", Dtype::Other, 8}, {"F6_E2M3", Dtype::Other, 6},
    {"F6_E3M2", Dtype::Other, 6}, {"F4", Dtype::Other, 4},
}};

constexpr uint64_t kLengthBytes = 8;

// Parses one tensor's entry; what is said of it goes through `fail(found, expected)`.
class Entry {
  public:
    Entry(const std::string& path, std::string_view name, uint64_t data_bytes)
        : path_(path), name_(name), data_bytes_(data_bytes) {}

    SourceTensor parse(dom::element value) const {
        dom::object object;
        if (value.get_object().get(object)) fail("", "no object", "an object with dtype, shape and data_offsets");
        std::optional<std::string_view> dtype;
        std::optional<std::vector<uint64_t>> shape, offsets;
        for (const auto [key, field] : object) {
            if (key == "dtype") {
                std::string_view text;
                if (dtype || field.get_string().get(text)) fail(": dtype", once_more(bool(dtype)), "one string");
                dtype = text;
            } else if (key == "shape") {
                shape = integers(": shape", shape.has_value(), field);
            } else if (key == "data_offsets") {
                offsets = integers(": data_offsets", offsets.has_value(), field);
            } else {
                fail("", "the key " + gguf::in_quotes(key), "dtype, shape and data_offsets");
            }
        }
        if (!dtype || !shape || !offsets)
            fail("",
                 fmt::format("no {}", !dtype   ? "dtype"
                                      : !shape ? "shape"
                                               : "data_offsets"),
                 "dtype, shape and data_offsets");
        return checked(*dtype, *std::move(shape), *offsets);
    }

    [[noreturn]] void fail(std::string_view part, std::string found, std::string expected) const {
        throw FormatError(path_, fmt::format("tensor {}{}", gguf::in_quotes(name_), part), std::move(found),
                          std::move(expected));
    }

  private:
    static std::string once_more(bool twice) { return twice ? "it twice" : "another kind of value"; }

    std::vector<uint64_t> integers(std::string_view part, bool twice, dom::element field) const {
        constexpr std::string_view kExpected = "one list of integers that are not negative";
        dom::array items;
        if (twice || field.get_array().get(items)) fail(part, once_more(twice), std::string(kExpected));
        std::vector<uint64_t> out;
        for (const dom::element item : items) {
            uint64_t number = 0;
            if (item.get_uint64().get(number)) fail(part, "another kind of item", std::string(kExpected));
            out.push_back(number);
        }
        return out;
    }

    SourceTensor checked(std::string_view dtype, std::vector<uint64_t> shape,
                         const std::vector<uint64_t>& offsets) const {
        if (offsets.size() != 2)
            fail(": data_offsets", fmt::format("{} numbers", offsets.size()), "2: where the bytes begin and end");
        const auto [begin, end] = std::pair(offsets[0], offsets[1]);
        if (end < begin || end > data_bytes_)
            fail(": data_offsets", fmt::format("[{}, {}]", begin, end),
                 fmt::format("a range within the file's {} bytes of data", data_bytes_));
        const auto info = std::ranges::find(kDtypes, dtype, &DtypeInfo::name);
        if (info != kDtypes.end()) {  // the size of a type unknown here cannot be checked, and is not used
            std::optional<uint64_t> bits = info->bits;
            for (const uint64_t n : shape) bits = bits ? checked_mul(*bits, n) : std::nullopt;
            if (!bits) fail(": shape", "a product of dimensions past 64 bits", "what fits the file");
            if (*bits % 8 != 0 || *bits / 8 != end - begin)
                fail(": data_offsets", fmt::format("{} bytes", end - begin),
                     fmt::format("{} for its shape and dtype {}", *bits / 8, dtype));
        }
        SourceTensor tensor;
        tensor.name = std::string(name_);
        tensor.dtype = info != kDtypes.end() ? info->dtype : Dtype::Other;
        tensor.dtype_name = std::string(dtype);
        tensor.shape = std::move(shape);
        tensor.offset = begin;
        tensor.nbytes = end - begin;
        return tensor;
    }

    const std::string& path_;
    std::string_view name_;
    uint64_t data_bytes_;
};

void check_metadata(dom::element value, const std::string& path) {
    dom::object object;
    const char* expected = "an object of strings";
    if (value.get_object().get(object)) throw FormatError(path, "__metadata__", "no object", expected);
    for (const auto [key, field] : object)
        if (!field.is_string()) throw FormatError(path, "__metadata__ " + gguf::in_quotes(key), "no string", expected);
}

// The format has no hole and no overlap: sorted by their offsets, the tensors cover the data from its start to its end.
void check_coverage(std::vector<SourceTensor>& tensors, uint64_t data_bytes, const std::string& path) {
    std::ranges::sort(tensors, {}, [](const SourceTensor& t) { return std::pair(t.offset, t.nbytes); });
    uint64_t at = 0;
    for (const SourceTensor& t : tensors) {
        if (t.offset != at)
            throw FormatError(path, fmt::format("tensor {}: data_offsets", gguf::in_quotes(t.name)),
                              fmt::format("a beginning at {}, which {}", t.offset,
                                          t.offset < at ? "overlaps the tensor before it" : "leaves a hole before it"),
                              fmt::format("{}", at));
        at = t.offset + t.nbytes;
    }
    if (at != data_bytes)
        throw FormatError(path, "data", fmt::format("{} bytes after the last tensor", data_bytes - at), "none");
}

}  // namespace

uint64_t SourceTensor::n_values() const {
    uint64_t n = 1;
    for (const uint64_t d : shape) n *= d;  // parse_safetensors_header has checked the product
    return n;
}

std::vector<SourceTensor> parse_safetensors_header(std::string_view json, uint64_t file_size, const std::string& path) {
    if (file_size < kLengthBytes || file_size - kLengthBytes < json.size())
        throw FormatError(path, "header length", fmt::format("{}", json.size()),
                          fmt::format("what fits the file's {} bytes", file_size));
    const uint64_t data_start = kLengthBytes + json.size();
    const uint64_t data_bytes = file_size - data_start;
    dom::parser parser;
    dom::element root;
    if (const auto error = parser.parse(json.data(), json.size()).get(root))
        throw FormatError(path, "header", fmt::format("JSON that does not parse ({})", simdjson::error_message(error)),
                          "a JSON object in UTF-8");
    dom::object object;
    if (root.get_object().get(object)) throw FormatError(path, "header", "JSON that is no object", "an object");
    std::vector<SourceTensor> tensors;
    bool metadata_seen = false;
    for (const auto [name, value] : object) {
        if (name == "__metadata__") {
            if (std::exchange(metadata_seen, true))
                throw FormatError(path, "__metadata__", "it twice", "it at most once");
            check_metadata(value, path);
            continue;
        }
        tensors.push_back(Entry(path, name, data_bytes).parse(value));
    }
    check_coverage(tensors, data_bytes, path);
    std::ranges::sort(tensors, {}, &SourceTensor::name);
    const auto twice = std::ranges::adjacent_find(tensors, {}, &SourceTensor::name);
    if (twice != tensors.end())
        throw FormatError(path, "tensor " + gguf::in_quotes(twice->name), "it twice", "each tensor once");
    for (SourceTensor& t : tensors) t.offset += data_start;
    return tensors;
}

std::vector<SourceTensor> read_safetensors_header(const File& file) {
    static_assert(std::endian::native == std::endian::little, "the length and the values are little-endian");
    uint64_t length = 0;
    if (file.size() < kLengthBytes)
        throw FormatError(file.path(), "size", fmt::format("{} bytes", file.size()), "at least the 8 of the length");
    file.pread_exact(0, std::as_writable_bytes(std::span(&length, 1)));
    if (length > file.size() - kLengthBytes)
        throw FormatError(file.path(), "header length", fmt::format("{}", length),
                          fmt::format("at most the {} bytes that follow it", file.size() - kLengthBytes));
    if (length > kMaxSafetensorsHeader)
        throw FormatError(file.path(), "header length", fmt::format("{}", length),
                          fmt::format("at most {}", kMaxSafetensorsHeader));
    std::string json(size_t(length), '\0');
    file.pread_exact(kLengthBytes, std::as_writable_bytes(std::span(json)));
    return parse_safetensors_header(json, file.size(), file.path());
}

}  // namespace minfer::convert
