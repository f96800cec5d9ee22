#include "quant/importance.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"
#include "gguf/reader.h"

namespace minfer::quant {

namespace {

constexpr std::string_view kSums = ".in_sum2", kCounts = ".counts";

// Both forms hold far less than this; more is no importance matrix.
constexpr uint64_t kMaxLegacyBytes = uint64_t(1) << 32;

std::vector<float> read_floats(const gguf::Gguf& file, const gguf::TensorInfo& tensor) {
    if (tensor.type != gguf::TensorType::F32)
        throw FormatError(file.path(), fmt::format("tensor '{}'", tensor.name),
                          fmt::format("type {}", gguf::type_name(tensor.type)), "f32");
    std::vector<float> values(tensor.n_values());
    file.read(tensor, 0, std::as_writable_bytes(std::span(values)));
    return values;
}

// What the GGUF form holds are sums over tokens, one count an expert; an expert never met weighs all inputs alike.
void divide_by_counts(std::vector<float>& sums, std::span<const float> counts) {
    const size_t n_in = sums.size() / counts.size();
    for (size_t expert = 0; expert < counts.size(); ++expert) {
        const float count = float(std::lround(counts[expert]));
        for (float& value : std::span(sums).subspan(expert * n_in, n_in)) value = count > 0 ? value / count : 1.0f;
    }
}

}  // namespace

Importance Importance::read(const std::string& path) {
    Importance importance;
    importance.path_ = path;
    const File file = File::open(path);
    std::array<char, 4> magic = {};
    if (file.size() >= magic.size()) file.pread_exact(0, std::as_writable_bytes(std::span(magic)));
    if (std::memcmp(magic.data(), "GGUF", 4) == 0)
        importance.read_gguf();
    else
        importance.read_legacy();
    if (importance.entries_.empty()) throw FormatError(path, "entries", "none", "one a weight matrix");
    for (const auto& [name, values] : importance.entries_)
        for (size_t i = 0; i < values.size(); ++i)
            if (!std::isfinite(values[i]))
                throw FormatError(path, fmt::format("entry '{}', value {}", name, i), fmt::format("{}", values[i]),
                                  "a finite number");
    return importance;
}

std::optional<std::span<const float>> Importance::find(std::string_view tensor) const {
    const auto entry = entries_.find(tensor);
    if (entry == entries_.end()) return std::nullopt;
    return entry->second;
}

void Importance::read_gguf() {
    const gguf::Gguf file = gguf::Gguf::open(path_, gguf::Gguf::Access::Read);
    datasets_ = file.get<std::vector<std::string>>("imatrix.datasets");
    n_chunks_ = file.get<uint32_t>("imatrix.chunk_count");
    file.get<uint32_t>("imatrix.chunk_size");  // only that it is there: what wrote the file knew the form
    for (const gguf::TensorInfo& sums : file.tensors()) {
        if (!sums.name.ends_with(kSums)) continue;
        const std::string name = sums.name.substr(0, sums.name.size() - kSums.size());
        const gguf::TensorInfo& counts = file.tensor(name + std::string(kCounts));
        if (sums.n_values() % counts.n_values() != 0)
            throw FormatError(path_, fmt::format("tensor '{}'", sums.name), fmt::format("{} values", sums.n_values()),
                              fmt::format("a multiple of the {} counts of '{}'", counts.n_values(), counts.name));
        std::vector<float> values = read_floats(file, sums);
        divide_by_counts(values, read_floats(file, counts));
        entries_.emplace(name, std::move(values));
    }
    for (const gguf::TensorInfo& counts : file.tensors())
        if (counts.name.ends_with(kCounts)) {
            const std::string sums = counts.name.substr(0, counts.name.size() - kCounts.size()) + std::string(kSums);
            if (!file.find_tensor(sums))
                throw FormatError(path_, fmt::format("tensor '{}'", counts.name), "no sums beside it",
                                  "'" + sums + "'");
        }
}

// The older form: a count of entries, each a name, how often it was summed, and the sums; then, in later versions, the
// number of chunks and the text's name.
void Importance::read_legacy() {
    const File file = File::open(path_);
    if (file.size() > kMaxLegacyBytes)
        throw FormatError(path_, "size", fmt::format("{} bytes, and no GGUF magic", file.size()),
                          "an importance matrix of at most 4 GiB");
    std::vector<std::byte> bytes(file.size());
    file.pread_exact(0, bytes);
    ByteCursor cursor(bytes);

    auto count = [&](const std::string& field, int32_t least) {
        const auto value = cursor.read<int32_t>();
        if (!value) throw FormatError(path_, field, "the end of the file", "a 32-bit count");
        if (*value < least)
            throw FormatError(path_, field, fmt::format("{}", *value), fmt::format("at least {}", least));
        return *value;
    };
    auto take = [&](const std::string& field, uint64_t n) {
        const auto taken = cursor.take(n);
        if (!taken)
            throw FormatError(path_, field, fmt::format("{} bytes to come", n),
                              fmt::format("at most the {} that are left", cursor.left()));
        return *taken;
    };
    auto text = [&](const std::string& field, int32_t length) {
        const auto taken = take(field, uint64_t(length));
        return std::string(reinterpret_cast<const char*>(taken.data()), taken.size());
    };

    const int32_t n_entries = count("number of entries", 1);
    for (int32_t i = 0; i < n_entries; ++i) {
        const std::string entry = fmt::format("entry {} of {}", i + 1, n_entries);
        const std::string name = text(entry, count(entry + ", length of its name", 0));
        const int32_t n_call = count(entry + ", number of calls", 0);
        const int32_t n_value = count(entry + ", number of values", 1);
        const auto raw = take(entry, uint64_t(n_value) * sizeof(float));
        std::vector<float> values(size_t(n_value), 0.0f);
        std::memcpy(values.data(), raw.data(), raw.size());
        if (n_call > 0)
            for (float& value : values) value /= float(n_call);
        if (!entries_.emplace(name, std::move(values)).second)
            throw FormatError(path_, entry, fmt::format("'{}' a second time", name), "each name once");
    }
    if (cursor.left() == 0) return;
    n_chunks_ = count("number of chunks", 0);
    if (cursor.left() == 0) return;
    if (const int32_t length = count("length of the dataset's name", 0); length > 0)
        datasets_.push_back(text("the dataset's name", length));
}

}  // namespace minfer::quant
