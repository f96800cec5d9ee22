#include "cli/compare_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "quant/decode.h"

namespace minfer::cli {
namespace {

using gguf::Gguf;
using gguf::TensorInfo;

// A multiple of 256, so that a piece is whole blocks in every type.
constexpr uint64_t kPieceValues = uint64_t(1) << 18;

// A tensor's values in pieces: bytes, and floats where asked. A row is whole blocks, so the tensor is one run of them.
class Pieces {
  public:
    Pieces(const Gguf& model, const TensorInfo& tensor) : model_(model), tensor_(tensor) {}

    std::span<const std::byte> bytes(uint64_t first, uint64_t n) {
        const uint64_t block = block_size(tensor_.type), size = type_size(tensor_.type);
        bytes_.resize(size_t(n / block * size));
        model_.read(tensor_, first / block * size, bytes_);
        return bytes_;
    }
    // Of the bytes that were read last.
    std::span<const float> values(uint64_t n) {
        values_.resize(size_t(n));
        quant::decode_row(tensor_.type, bytes_, values_);
        return values_;
    }

  private:
    const Gguf& model_;
    const TensorInfo& tensor_;
    std::vector<std::byte> bytes_;
    std::vector<float> values_;
};

void add(ValueError& error, std::span<const float> a, std::span<const float> b) {
    error.n_values += a.size();
    for (size_t i = 0; i < a.size(); ++i) {
        if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
        const double difference = std::abs(double(a[i]) - double(b[i]));
        if (!std::isfinite(difference)) {
            ++error.n_not_finite;
            continue;
        }
        error.sum_of_squares += difference * difference;
        error.largest = std::max(error.largest, difference);
    }
}

}  // namespace

double ValueError::rmse() const {
    const uint64_t n = n_values - n_not_finite;
    return n == 0 ? 0 : std::sqrt(sum_of_squares / double(n));
}

const char* TensorDifference::kind_name() const {
    switch (kind) {
        case Kind::Equal:
            return "equal";
        case Kind::Bytes:
            return "different bytes";
        case Kind::Type:
            return "different type";
        case Kind::Shape:
            return "different shape";
        case Kind::OnlyInA:
            return "only in A";
        case Kind::OnlyInB:
            return "only in B";
    }
    return "";
}

std::string TensorDifference::words() const {
    std::string out = kind_name();
    if (kind == Kind::Bytes) out = fmt::format("{} of {} bytes differ", n_different_bytes, a->nbytes);
    if (error) out += fmt::format(", RMSE {:.4g}, largest {:.4g}", error->rmse(), error->largest);
    if (error && error->n_not_finite > 0) out += fmt::format(", {} pairs not finite", error->n_not_finite);
    if ((kind == Kind::Bytes || kind == Kind::Type) && !error) out += ", values not compared: no decoder";
    return out;
}

TensorDifference compare_tensors(const Gguf& model_a, const TensorInfo* a, const Gguf& model_b, const TensorInfo* b,
                                 Progress& progress) {
    using Kind = TensorDifference::Kind;
    TensorDifference out{.a = a, .b = b, .error = {}};
    if (!a || !b || a->ne != b->ne) {
        out.kind = !a ? Kind::OnlyInB : !b ? Kind::OnlyInA : Kind::Shape;
        if (a) progress.advance(a->nbytes);
        return out;
    }
    const bool same_type = a->type == b->type;
    if (quant::can_decode(a->type) && quant::can_decode(b->type)) out.error.emplace();
    if (!same_type && !out.error) {
        out.kind = Kind::Type;
        progress.advance(a->nbytes);
        return out;
    }
    Pieces pieces_a(model_a, *a), pieces_b(model_b, *b);
    for (uint64_t first = 0; first < a->n_values(); first += kPieceValues) {
        const uint64_t n = std::min(kPieceValues, a->n_values() - first);
        const auto bytes_a = pieces_a.bytes(first, n), bytes_b = pieces_b.bytes(first, n);
        progress.advance(bytes_a.size());
        if (same_type && std::ranges::equal(bytes_a, bytes_b)) {
            if (out.error) out.error->n_values += n;
            continue;
        }
        if (same_type)
            for (size_t i = 0; i < bytes_a.size(); ++i) out.n_different_bytes += bytes_a[i] != bytes_b[i];
        if (out.error) add(*out.error, pieces_a.values(n), pieces_b.values(n));
    }
    out.kind = !same_type ? Kind::Type : out.n_different_bytes > 0 ? Kind::Bytes : Kind::Equal;
    if (out.kind == Kind::Equal) out.error.reset();
    return out;
}

}  // namespace minfer::cli
