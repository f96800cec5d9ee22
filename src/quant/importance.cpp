#include "quant/importance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/checked.h"
#include "base/error.h"

namespace minfer::quant {

namespace {

constexpr std::string_view kSums = ".in_sum2", kCounts = ".counts";
constexpr uint64_t kPieceValues = uint64_t(1) << 15;
constexpr float kMostCounted = 0x1p62f;            // tokens, which are integers of 64 bits once they are read
constexpr size_t kMaxNameBytes = size_t(1) << 16;  // of an entry or a text of the older form

// The older form, read from its beginning to its end.
class LegacyCursor {
  public:
    explicit LegacyCursor(const File& file) : file_(file) {}

    uint64_t position() const { return position_; }
    uint64_t left() const { return file_.size() - position_; }

    int32_t count(const std::string& field, int32_t least) {
        int32_t value = 0;
        if (left() < sizeof value) throw FormatError(file_.path(), field, "the end of the file", "a 32-bit count");
        file_.pread_exact(position_, std::as_writable_bytes(std::span(&value, 1)));
        position_ += sizeof value;
        if (value < least)
            throw FormatError(file_.path(), field, fmt::format("{}", value), fmt::format("at least {}", least));
        return value;
    }
    std::string text(const std::string& field, int32_t length) {
        const uint64_t at = skip(field, uint64_t(length));
        if (size_t(length) > kMaxNameBytes)
            throw FormatError(file_.path(), field, fmt::format("{} bytes", length),
                              fmt::format("at most {}", kMaxNameBytes));
        std::string text(size_t(length), '\0');
        file_.pread_exact(at, std::as_writable_bytes(std::span(text)));
        return text;
    }
    // Where the bytes passed over start.
    uint64_t skip(const std::string& field, uint64_t n) {
        if (n > left())
            throw FormatError(file_.path(), field, fmt::format("{} bytes to come", n),
                              fmt::format("at most the {} that are left", left()));
        return std::exchange(position_, position_ + n);
    }

  private:
    const File& file_;
    uint64_t position_ = 0;
};

}  // namespace

Importance Importance::read(const std::string& path) {
    Importance importance;
    importance.path_ = path;
    File file = File::open(path);
    std::array<char, 4> magic = {};
    if (file.size() >= magic.size()) file.pread_exact(0, std::as_writable_bytes(std::span(magic)));
    if (std::memcmp(magic.data(), "GGUF", 4) == 0) {
        importance.read_gguf();
    } else {
        importance.legacy_ = std::move(file);
        importance.read_legacy();
    }
    if (importance.entries_.empty()) throw FormatError(path, "entries", "none", "one a weight matrix");
    importance.check_values();
    return importance;
}

std::vector<std::string> Importance::names() const {
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_) names.push_back(name);
    return names;
}

std::optional<uint64_t> Importance::find(std::string_view tensor) const {
    const auto entry = entries_.find(tensor);
    if (entry == entries_.end()) return std::nullopt;
    return entry->second.n_values;
}

void Importance::load(std::string_view tensor, uint64_t first, std::span<float> out) const {
    const auto entry = entries_.find(tensor);
    if (entry == entries_.end() || first > entry->second.n_values || out.size() > entry->second.n_values - first)
        throw ShapeError(
            fmt::format("{}: entry '{}' has no values {} to {}", path_, tensor, first, first + uint64_t(out.size())));
    load(entry->second, first, out);
}

void Importance::load(const Entry& entry, uint64_t first, std::span<float> out) const {
    if (!entry.sums) {
        legacy_->pread_exact(entry.offset + first * sizeof(float), std::as_writable_bytes(out));
        if (entry.n_call > 0)
            for (float& value : out) value /= float(entry.n_call);
        return;
    }
    // What the GGUF form holds are sums over tokens, one count an expert; an expert never met weighs all inputs alike.
    gguf_->read(*entry.sums, first * sizeof(float), std::as_writable_bytes(out));
    const uint64_t n_in = entry.n_values / entry.counts->n_values();
    while (!out.empty()) {
        float count = 0;
        gguf_->read(*entry.counts, first / n_in * sizeof(float), std::as_writable_bytes(std::span(&count, 1)));
        count = float(std::lround(count));
        const uint64_t n = std::min<uint64_t>(out.size(), n_in - first % n_in);
        for (float& value : out.first(n)) value = count > 0 ? value / count : 1.0f;
        out = out.subspan(n);
        first += n;
    }
}

// As the file has them: what load() makes of them hides the sums of a count of 0.
void Importance::check_values() const {
    std::vector<float> piece;
    const auto check = [&](const std::string& what, uint64_t n_values, float most, const std::string& expected,
                           const auto& read) {
        for (uint64_t first = 0; first < n_values; first += kPieceValues) {
            piece.resize(std::min(kPieceValues, n_values - first));
            read(first, std::as_writable_bytes(std::span(piece)));
            for (size_t i = 0; i < piece.size(); ++i)
                if (!(piece[i] >= 0 && piece[i] <= most))
                    throw FormatError(path_, fmt::format("{} {}", what, first + i), fmt::format("{}", piece[i]),
                                      expected);
        }
    };
    for (const auto& [name, entry] : entries_) {
        const auto from = [this](const gguf::TensorInfo* tensor) {
            return [this, tensor](uint64_t first, std::span<std::byte> out) {
                gguf_->read(*tensor, first * sizeof(float), out);
            };
        };
        const std::string sums = fmt::format("entry '{}', value", name);
        constexpr float kMost = std::numeric_limits<float>::max();
        const std::string finite = "a finite number that is not negative";
        if (!entry.sums) {
            check(sums, entry.n_values, kMost, finite, [&](uint64_t first, std::span<std::byte> out) {
                legacy_->pread_exact(entry.offset + first * sizeof(float), out);
            });
            continue;
        }
        check(sums, entry.n_values, kMost, finite, from(entry.sums));
        check(fmt::format("entry '{}', count", name), entry.counts->n_values(), kMostCounted, "0 to 2^62",
              from(entry.counts));
    }
}

void Importance::read_gguf() {
    gguf_ = gguf::Gguf::open(path_, gguf::Gguf::Access::Read);
    const gguf::Gguf& file = *gguf_;
    datasets_ = file.get<std::vector<std::string>>("imatrix.datasets");
    n_chunks_ = file.get<uint32_t>("imatrix.chunk_count");
    file.get<uint32_t>("imatrix.chunk_size");  // only that it is there: what wrote the file knew the form
    const auto require_floats = [&](const gguf::TensorInfo& tensor) {
        if (tensor.type != gguf::TensorType::F32)
            throw FormatError(path_, fmt::format("tensor '{}'", tensor.name),
                              fmt::format("type {}", gguf::type_name(tensor.type)), "f32");
    };
    for (const gguf::TensorInfo& sums : file.tensors()) {
        if (!sums.name.ends_with(kSums)) continue;
        const std::string name = sums.name.substr(0, sums.name.size() - kSums.size());
        const gguf::TensorInfo& counts = file.tensor(name + std::string(kCounts));
        require_floats(sums);
        require_floats(counts);
        if (sums.n_values() % counts.n_values() != 0)
            throw FormatError(path_, fmt::format("tensor '{}'", sums.name), fmt::format("{} values", sums.n_values()),
                              fmt::format("a multiple of the {} counts of '{}'", counts.n_values(), counts.name));
        entries_.emplace(name, Entry{.n_values = sums.n_values(), .sums = &sums, .counts = &counts});
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
    LegacyCursor cursor(*legacy_);
    const int32_t n_entries = cursor.count("number of entries", 1);
    for (int32_t i = 0; i < n_entries; ++i) {
        const std::string field = fmt::format("entry {} of {}", i + 1, n_entries);
        const std::string name = cursor.text(field, cursor.count(field + ", length of its name", 0));
        const int32_t n_call = cursor.count(field + ", number of calls", 0);
        const auto n_values = uint64_t(cursor.count(field + ", number of values", 1));
        const uint64_t offset = cursor.skip(field, n_values * sizeof(float));
        const Entry entry = {.n_values = n_values, .offset = offset, .n_call = n_call};
        if (!entries_.emplace(name, entry).second)
            throw FormatError(path_, field, fmt::format("'{}' a second time", name), "each name once");
    }
    if (cursor.left() == 0) return;
    n_chunks_ = cursor.count("number of chunks", 0);
    if (cursor.left() == 0) return;
    if (const int32_t length = cursor.count("length of the dataset's name", 0); length > 0)
        datasets_.push_back(cursor.text("the dataset's name", length));
}

}  // namespace minfer::quant
