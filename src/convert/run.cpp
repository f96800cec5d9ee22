// The streaming half of a conversion: one thread reads and converts, the other writes, with a few chunks between them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/cpu_features.h"
#include "base/error.h"
#include "convert/convert.h"
#include "convert/values.h"
#include "quant/finite.h"

namespace minfer::convert {
namespace {

// Values of a chunk: 1 MiB of halves, so that what was read is still in the second-level cache when it is converted,
// and a system call is short beside it. A multiple of every block.
constexpr uint64_t kChunkValues = uint64_t(1) << 19;
constexpr size_t kChunksInFlight = 4;

struct Chunk {
    size_t tensor = 0;             // index into the plan
    std::vector<std::byte> bytes;  // in the type of the output, in the order of the output
};

// Hands chunks from the reading to the writing thread, and their buffers back.
class Queue {
  public:
    Queue() {
        for (size_t i = 0; i < kChunksInFlight; ++i) free_.emplace_back();
    }

    // Of the reader: an empty chunk to fill, or nothing when the writer has given up.
    std::optional<Chunk> take_free() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopped_ || !free_.empty(); });
        if (stopped_) return std::nullopt;
        Chunk chunk = std::move(free_.back());
        free_.pop_back();
        return chunk;
    }
    void put_full(Chunk chunk) {
        const std::lock_guard lock(mutex_);
        full_.push_back(std::move(chunk));
        changed_.notify_all();
    }
    // The end of the chunks, by success or by an exception, which the writer gets.
    void finish(std::exception_ptr error) {
        const std::lock_guard lock(mutex_);
        finished_ = true;
        error_ = std::move(error);
        changed_.notify_all();
    }

    // Of the writer: the next chunk, or nothing at the end.
    std::optional<Chunk> take_full() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return finished_ || !full_.empty(); });
        if (error_) std::rethrow_exception(error_);
        if (full_.empty()) return std::nullopt;
        Chunk chunk = std::move(full_.front());
        full_.erase(full_.begin());
        return chunk;
    }
    void put_free(Chunk chunk) {
        const std::lock_guard lock(mutex_);
        free_.push_back(std::move(chunk));
        changed_.notify_all();
    }
    void stop() {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        changed_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Chunk> free_, full_;
    bool finished_ = false, stopped_ = false;
    std::exception_ptr error_;
};

class Reader {
  public:
    Reader(const Conversion& conversion, Queue& queue)
        : conversion_(conversion), queue_(queue), kernels_(choose_value_kernels([] {
              CpuFeatures cpu = detect_cpu_features();
              apply_environment(cpu);
              return cpu;
          }())) {}

    void read_all() {
        for (size_t i = 0; i < conversion_.tensors().size(); ++i)
            if (!read_tensor(i)) return;
    }

  private:
    // Rows of a tensor whose order stays are one run of values; those of a permuted one come in whole heads where such
    // chunks are small enough, else row by row. Gives false when the writer has given up.
    bool read_tensor(size_t index) {
        const PlannedTensor& tensor = conversion_.tensors()[index];
        const uint64_t n_values = tensor.spec.ne[0] * tensor.spec.ne[1];
        uint64_t step = kChunkValues;
        const bool permuted = tensor.mapped.permuted_heads != 0;
        if (permuted) {
            const Rows rows = rows_of(tensor);
            const uint64_t head = rows.head_rows * rows.row_values;
            const uint64_t unit = head <= kChunkValues ? head : rows.row_values;
            step = std::max<uint64_t>(kChunkValues / unit, 1) * unit;
        }
        for (uint64_t first = 0; first < n_values; first += step) {
            std::optional<Chunk> chunk = queue_.take_free();
            if (!chunk) return false;
            const uint64_t n = std::min(step, n_values - first);
            chunk->tensor = index;
            chunk->bytes.resize(size_t(gguf::row_bytes(tensor.spec.type, n)));
            if (!tensor.factors.empty()) {
                std::ranges::copy(
                    std::as_bytes(std::span(tensor.factors)).subspan(first * sizeof(float), n * sizeof(float)),
                    chunk->bytes.begin());
            } else {
                const SourceTensor& source = conversion_.checkpoint().tensors()[tensor.mapped.source];
                const File& file = conversion_.checkpoint().shards()[source.shard];
                if (permuted)
                    read_permuted(tensor, source, file, first, n);
                else
                    read_run(source, file, first, n, in_);
                if (tensor.spec.type == gguf::TensorType::Q8_0) check_finite(tensor, source, first);
                convert_values(kernels_, source.dtype, in_, tensor.spec.type, chunk->bytes);
            }
            queue_.put_full(*std::move(chunk));
        }
        return true;
    }

    // A block has one scale, so a value that is not finite would spoil the 31 beside it.
    void check_finite(const PlannedTensor& tensor, const SourceTensor& source, uint64_t first) const {
        const gguf::TensorType type = source.dtype == Dtype::F32   ? gguf::TensorType::F32
                                      : source.dtype == Dtype::F16 ? gguf::TensorType::F16
                                                                   : gguf::TensorType::BF16;
        const auto found = quant::find_non_finite(type, in_);
        if (!found) return;
        const uint64_t row_values = tensor.spec.ne[0], index = first + found->index;
        uint64_t row = index / row_values;
        if (tensor.mapped.permuted_heads != 0) row = permuted_source_row(row, rows_of(tensor).head_rows);
        throw Error(fmt::format("tensor '{}': {} at row {}, column {}, which q8_0 cannot hold", source.name,
                                found->what, row, index % row_values));
    }

    struct Rows {
        uint64_t row_values, head_rows;
    };
    static Rows rows_of(const PlannedTensor& tensor) {
        const std::vector<uint64_t>& shape = tensor.mapped.shape;
        return {shape.size() == 2 ? shape[1] : 1, shape[0] / tensor.mapped.permuted_heads};
    }

    static void read_run(const SourceTensor& source, const File& file, uint64_t first, uint64_t n,
                         std::vector<std::byte>& out) {
        const size_t size = value_size(source.dtype);
        out.resize(size_t(n) * size);
        file.pread_exact(source.offset + first * size, out);
    }

    void read_permuted(const PlannedTensor& tensor, const SourceTensor& source, const File& file, uint64_t first,
                       uint64_t n) {
        const Rows rows = rows_of(tensor);
        const size_t row_bytes = size_t(rows.row_values) * value_size(source.dtype);
        const uint64_t first_row = first / rows.row_values, n_rows = n / rows.row_values;
        const bool whole_heads = first_row % rows.head_rows == 0 && n_rows % rows.head_rows == 0;
        if (whole_heads) read_run(source, file, first, n, unordered_);
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
    Queue& queue_;
    const ValueKernels& kernels_;
    std::vector<std::byte> in_, unordered_;
};

}  // namespace

void Conversion::run(const std::function<void(const PlannedTensor&, uint64_t)>& report) {
    writer_.begin();
    Queue queue;
    std::thread reading([&] {
        std::exception_ptr error;
        try {
            Reader(*this, queue).read_all();
        } catch (...) {
            error = std::current_exception();
        }
        queue.finish(std::move(error));
    });
    struct Join {
        Queue& queue;
        std::thread& thread;
        ~Join() {
            queue.stop();
            thread.join();
        }
    } join{queue, reading};

    size_t current = tensors_.size();
    while (std::optional<Chunk> chunk = queue.take_full()) {
        if (chunk->tensor != current) {
            current = chunk->tensor;
            writer_.begin_tensor(tensors_[current].spec.name);
        }
        writer_.write(chunk->bytes);
        if (report) report(tensors_[current], chunk->bytes.size());
        queue.put_free(*std::move(chunk));
    }
    writer_.commit();
}

}  // namespace minfer::convert
