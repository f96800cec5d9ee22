// The streaming half of a conversion: two threads, each of which takes the next piece of a tensor, reads it, converts
// it and writes it at its place. So a piece stays in one core's cache, and no thread waits for the other.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "base/cpu_features.h"
#include "base/error.h"
#include "base/threads.h"
#include "convert/convert.h"
#include "convert/values.h"
#include "gguf/block_check.h"

namespace minfer::convert {
namespace {

constexpr int kThreads = 2;

// Values of a piece: 512 KiB of halves, so that what was read is still in the second-level cache when it is converted
// and written, and a system call is short beside it. A multiple of every block.
constexpr uint64_t kPieceValues = uint64_t(1) << 18;

// For a tensor of permuted rows: how many rows a head has, and how many values a row.
struct Rows {
    uint64_t head_rows = 0, row_values = 0;
};

Rows rows_of(const PlannedTensor& tensor) {
    const std::vector<uint64_t>& shape = tensor.mapped.shape;
    return {shape[0] / tensor.mapped.permuted_heads, shape.size() == 2 ? shape[1] : 1};
}

// Values of a piece of this tensor. A run of values, where the order stays; whole heads where rows are permuted, or
// whole rows where a head is too large.
uint64_t piece_values(const PlannedTensor& tensor) {
    if (tensor.mapped.permuted_heads == 0) return kPieceValues;
    const Rows rows = rows_of(tensor);
    const uint64_t head = rows.head_rows * rows.row_values;
    const uint64_t unit = head <= kPieceValues ? head : rows.row_values;
    return std::max<uint64_t>(kPieceValues / unit, 1) * unit;
}

struct Piece {
    size_t number = 0;              // among all pieces, in the order of the file
    size_t tensor = 0;              // index into the plan
    uint64_t first = 0, count = 0;  // its values
    gguf::Writer::Room room;
};

// Deals the pieces out in order, and hears how they went. Of several errors the one of the earliest piece counts, so
// that the same fault of a checkpoint gives the same message each time. For several threads.
class Pieces {
  public:
    using Report = std::function<void(const PlannedTensor&, uint64_t)>;

    Pieces(const std::vector<PlannedTensor>& tensors, gguf::Writer& writer, const Report& report)
        : tensors_(tensors), writer_(writer), report_(report) {}

    std::optional<Piece> next() {
        const std::lock_guard lock(mutex_);
        if (error_ || tensor_ == tensors_.size()) return std::nullopt;
        const PlannedTensor& tensor = tensors_[tensor_];
        if (first_ == 0) writer_.begin_tensor(tensor.spec.name);
        const uint64_t n_values = tensor.spec.ne[0] * tensor.spec.ne[1];
        Piece piece{n_dealt_++, tensor_, first_, std::min(piece_values(tensor), n_values - first_), {}};
        piece.room = writer_.reserve(gguf::row_bytes(tensor.spec.type, piece.count));
        first_ += piece.count;
        if (first_ == n_values) {
            ++tensor_;
            first_ = 0;
        }
        return piece;
    }

    void done(const Piece& piece) {
        const std::lock_guard lock(mutex_);
        if (report_) report_(tensors_[piece.tensor], piece.room.n_bytes);
    }

    void failed(size_t number, std::exception_ptr error) {
        const std::lock_guard lock(mutex_);
        if (error_ && number >= number_of_error_) return;
        number_of_error_ = number;
        error_ = std::move(error);
    }

    void rethrow() const {
        if (error_) std::rethrow_exception(error_);
    }

  private:
    const std::vector<PlannedTensor>& tensors_;
    gguf::Writer& writer_;
    const Report& report_;
    std::mutex mutex_;
    size_t tensor_ = 0, n_dealt_ = 0;
    uint64_t first_ = 0;  // value of the current tensor
    size_t number_of_error_ = 0;
    std::exception_ptr error_;
};

// Reads and converts pieces; one a thread.
class Converter {
  public:
    Converter(const Conversion& conversion, const ValueKernels& kernels) : conversion_(conversion), kernels_(kernels) {}

    // The bytes of a piece as they go into the file; valid until the next call.
    std::span<const std::byte> convert(const Piece& piece) {
        const PlannedTensor& tensor = conversion_.tensors()[piece.tensor];
        if (!tensor.factors.empty())
            return std::as_bytes(std::span(tensor.factors).subspan(size_t(piece.first), size_t(piece.count)));
        const SourceTensor& source = conversion_.checkpoint().tensors()[tensor.mapped.source];
        const File& file = conversion_.checkpoint().shards()[source.shard];
        if (tensor.mapped.permuted_heads != 0)
            read_permuted(tensor, source, file, piece);
        else
            read_run(source, file, piece, in_);
        if (tensor.spec.type == gguf::TensorType::Q8_0) check_finite(tensor, source, piece.first);
        if (is_same(source.dtype, tensor.spec.type)) return in_;
        out_.resize(size_t(piece.room.n_bytes));
        convert_values(kernels_, source.dtype, in_, tensor.spec.type, out_);
        return out_;
    }

  private:
    // A block has one scale, so a value that is not finite would spoil the 31 beside it.
    void check_finite(const PlannedTensor& tensor, const SourceTensor& source, uint64_t first) const {
        const gguf::TensorType type = source.dtype == Dtype::F32   ? gguf::TensorType::F32
                                      : source.dtype == Dtype::F16 ? gguf::TensorType::F16
                                                                   : gguf::TensorType::BF16;
        const auto found = gguf::find_non_finite(type, in_);
        if (!found) return;
        const uint64_t row_values = tensor.spec.ne[0], index = first + found->index;
        uint64_t row = index / row_values;
        if (tensor.mapped.permuted_heads != 0) row = permuted_source_row(row, rows_of(tensor).head_rows);
        throw Error(fmt::format("tensor '{}': {} at row {}, column {}, which q8_0 cannot hold", source.name,
                                found->what, row, index % row_values));
    }

    static void read_run(const SourceTensor& source, const File& file, const Piece& piece,
                         std::vector<std::byte>& out) {
        const size_t size = value_size(source.dtype);
        out.resize(size_t(piece.count) * size);
        file.pread_exact(source.offset + piece.first * size, out);
    }

    void read_permuted(const PlannedTensor& tensor, const SourceTensor& source, const File& file, const Piece& piece) {
        const Rows rows = rows_of(tensor);
        const size_t row_bytes = size_t(rows.row_values) * value_size(source.dtype);
        const uint64_t first_row = piece.first / rows.row_values, n_rows = piece.count / rows.row_values;
        const bool whole_heads = first_row % rows.head_rows == 0 && n_rows % rows.head_rows == 0;
        if (whole_heads) read_run(source, file, piece, unordered_);
        in_.resize(size_t(n_rows) * row_bytes);
        for (uint64_t i = 0; i < n_rows; ++i) {
            const uint64_t from = permuted_source_row(first_row + i, rows.head_rows);
            const std::span<std::byte> row = std::span(in_).subspan(size_t(i) * row_bytes, row_bytes);
            if (whole_heads)
                std::ranges::copy(std::span(unordered_).subspan(size_t(from - first_row) * row_bytes, row_bytes),
                                  row.begin());
            else
                file.pread_exact(source.offset + from * row_bytes, row);
        }
    }

    const Conversion& conversion_;
    const ValueKernels& kernels_;
    std::vector<std::byte> in_, unordered_, out_;
};

}  // namespace

void Conversion::run(const std::function<void(const PlannedTensor&, uint64_t)>& report) {
    const ValueKernels& kernels = choose_value_kernels(usable_cpu_features());
    writer_.begin();
    Pieces pieces(tensors_, writer_, report);
    ThreadPool(kThreads).parallel([&](int, int) {
        Converter converter(*this, kernels);
        size_t number = 0;  // of the piece at hand, for an error
        try {
            while (const std::optional<Piece> piece = pieces.next()) {
                number = piece->number;
                writer_.fill(piece->room, converter.convert(*piece));
                pieces.done(*piece);
            }
        } catch (...) {
            pieces.failed(number, std::current_exception());
        }
    });
    pieces.rethrow();
    writer_.commit();
}

}  // namespace minfer::convert
