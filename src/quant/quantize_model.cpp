#include "quant/quantize_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "gguf/block_check.h"
#include "gguf/split_name.h"
#include "quant/decode.h"
#include "quant/encode.h"

namespace minfer::quant {

namespace {

using gguf::Gguf;
using gguf::KeyValue;
using gguf::TensorInfo;
using gguf::TensorType;
using gguf::Value;

constexpr uint32_t kQuantizationVersion = 2;  // of the block formats; ggml's GGML_QNT_VERSION
constexpr size_t kRecordedPath = 127;         // bytes of a file's name that the reference records

void set_key(std::vector<KeyValue>& metadata, std::string_view key, Value value) {
    for (KeyValue& entry : metadata)
        if (entry.key == key) {
            entry.value = std::move(value);
            return;
        }
    metadata.push_back({std::string(key), std::move(value)});
}

std::vector<KeyValue> output_metadata(const Gguf& source, const QuantizeOptions& options) {
    std::vector<KeyValue> metadata = source.metadata();
    set_key(metadata, "general.quantization_version", Value::scalar(kQuantizationVersion));
    set_key(metadata, "general.file_type", Value::scalar(uint32_t(options.plan.scheme.file_type)));
    std::erase_if(metadata, [](const KeyValue& entry) { return gguf::is_split_key(entry.key); });
    for (const KeyValue& entry : options.override_keys) set_key(metadata, entry.key, entry.value);
    if (const Importance* importance = options.importance) {
        set_key(metadata, "quantize.imatrix.file", Value::string(importance->path().substr(0, kRecordedPath)));
        if (!importance->datasets().empty())
            set_key(metadata, "quantize.imatrix.dataset",
                    Value::string(importance->datasets()[0].substr(0, kRecordedPath)));
        set_key(metadata, "quantize.imatrix.entries_count", Value::scalar(uint32_t(importance->n_entries())));
        if (importance->n_chunks() > 0)
            set_key(metadata, "quantize.imatrix.chunks_count", Value::scalar(uint32_t(importance->n_chunks())));
    }
    return metadata;
}

// The first item of a per-layer array, or the number itself.
std::optional<int64_t> first_number(const Value& value) {
    if (!value.is_array()) return value.as<int64_t>();
    const auto items = value.as<std::vector<int64_t>>();
    return items && !items->empty() ? std::optional(items->front()) : std::nullopt;
}

// Uniform files ask nothing of the model, so any GGUF file can become one. A mixture's rules need these keys.
ModelFacts model_facts(const Gguf& source, const std::vector<KeyValue>& metadata, const QuantizeOptions& options) {
    const Scheme& scheme = options.plan.scheme;
    const bool has_rules = gguf::block_size(scheme.base) > 1 && !scheme.pure;
    auto find = [&](const std::string& key) -> const Value* {
        const auto entry =
            std::find_if(metadata.begin(), metadata.end(), [&](const KeyValue& e) { return e.key == key; });
        return entry == metadata.end() ? nullptr : &entry->value;
    };
    ModelFacts facts;
    if (const Value* value = find("general.architecture")) facts.architecture = value->as<std::string>().value_or("");
    auto number = [&](const char* name, std::optional<int64_t> otherwise) -> int64_t {
        const std::string key = facts.architecture + name;
        if (const Value* value = find(key)) {
            const auto n = first_number(*value);
            if (!n)
                throw FormatError(source.path(), "key '" + key + "'", value->describe(),
                                  "an integer, or an array of them");
            if (*n < 0 || *n > INT32_MAX)
                throw FormatError(source.path(), "key '" + key + "'", fmt::format("{}", *n),
                                  fmt::format("0 to {}", INT32_MAX));
            return *n;
        }
        if (otherwise || !has_rules) return otherwise.value_or(0);
        throw FormatError(source.path(), "key '" + key + "'", "nothing",
                          fmt::format("what the rules of {} go by (or pass --pure)", scheme.name));
    };
    facts.n_layer = number(".block_count", std::nullopt);
    facts.n_head = number(".attention.head_count", std::nullopt);
    facts.n_head_kv = number(".attention.head_count_kv", facts.n_head);
    facts.n_expert = number(".expert_count", 0);
    return facts;
}

// Whether there is importance for the tensor's inputs, [ne[2]][ne[0]].
bool has_importance(const TensorInfo& tensor, const QuantizeOptions& options) {
    if (!options.importance) return false;
    const auto n_values = options.importance->find(tensor.name);
    if (!n_values) return false;
    const uint64_t expected = tensor.ne[0] * tensor.ne[2];
    if (*n_values == expected) return true;
    if (tensor.name == "token_embd.weight") return false;  // measured on ids, not on inputs
    throw FormatError(options.importance->path(), fmt::format("entry '{}'", tensor.name),
                      fmt::format("{} values", *n_values), fmt::format("{}, as the tensor has inputs", expected));
}

void check_step(const QuantizeStep& step, const QuantizeOptions& options) {
    const TensorInfo& tensor = *step.source;
    if (step.target.needs_importance && !has_importance(tensor, options))
        throw Error(
            fmt::format("tensor '{}' would be {} in a {} file, which takes an importance matrix: pass --imatrix FILE "
                        "with an entry for it",
                        tensor.name, gguf::type_name(step.target.type), options.plan.scheme.name));
    if (step.copies()) return;
    has_importance(tensor, options);  // which refuses one of another size, before a byte is written
    if (!options.allow_requantize && gguf::block_size(tensor.type) > 1)
        throw Error(
            fmt::format("tensor '{}' has type {}; re-quantizing loses quality; start from an f16 or f32 GGUF or pass "
                        "--allow-requantize",
                        tensor.name, gguf::type_name(tensor.type)));
    if (!can_decode(tensor.type))
        throw UnsupportedError(
            fmt::format("tensor '{}' has type {}, which minfer cannot decode (no dequantizer for it)", tensor.name,
                        gguf::type_name(tensor.type)));
}

std::vector<const TensorInfo*> output_order(const Gguf& source, const QuantizeOptions& options) {
    std::vector<const TensorInfo*> order;
    for (const TensorInfo& tensor : source.tensors()) order.push_back(&tensor);
    if (!options.keep_split)
        std::sort(order.begin(), order.end(),
                  [](const TensorInfo* a, const TensorInfo* b) { return reference_order(a->name, b->name); });
    return order;
}

// Sets up all but the data; plan() and begin() of the result say the rest.
void describe_output(gguf::Writer& writer, const Gguf& source, const QuantizePlan& plan,
                     const QuantizeOptions& options) {
    writer.protect(source);
    for (const KeyValue& entry : plan.metadata) writer.set(entry.key, entry.value);
    std::vector<uint32_t> parts;
    for (const QuantizeStep& step : plan.steps) {
        gguf::TensorSpec spec = gguf::spec_of(*step.source);
        spec.type = step.target.type;
        spec.n_dims = 0;  // as the reference writes them: without trailing ones, whatever the source has
        writer.add_tensor(std::move(spec));
        parts.push_back(uint32_t(step.source->part));
    }
    if (options.keep_split) writer.split(std::move(parts), uint32_t(source.parts().size()));
    if (options.split) writer.split(*options.split);
}

// What all threads work on at once: large enough that meeting at its end costs nothing, small enough that its bytes
// stay in the last-level cache and out of the memory bill.
constexpr uint64_t kWindowValues = uint64_t(1) << 20;
// What one thread takes of it at a time: floats that stay in L2 from decoding to encoding. A multiple of every block.
constexpr uint64_t kSliceValues = uint64_t(1) << 15;
static_assert(kWindowValues / kSliceValues == uint64_t(kMaxQuantizeThreads));

// Some whole rows of a tensor, or some columns of one row.
struct Piece {
    uint64_t first_row, n_rows, first_column, n_columns;

    uint64_t n_values() const { return n_rows * n_columns; }
    // How many values a cut of about `values` has: whole rows, or whole blocks of a row that is longer than that.
    uint64_t cut_values(uint64_t values) const { return n_columns > values ? values : values / n_columns * n_columns; }
    // Values [first, first + n) of this, both multiples of cut_values() but at the end.
    Piece cut(uint64_t first, uint64_t n) const {
        if (n < n_columns) return {first_row, 1, first_column + first, n};
        return {first_row + first / n_columns, n / n_columns, first_column, n_columns};
    }
};

class Recoder {
  public:
    Recoder(const Gguf& source, const QuantizeOptions& options, gguf::Writer& writer, ThreadPool& pool,
            const QuantizeProgress& progress)
        : source_(source), options_(options), writer_(writer), pool_(pool), progress_(progress) {
        slices_.resize(size_t(pool.size()));
    }

    void run(const QuantizeStep& step) {
        const uint64_t n_rows = step.source->n_rows(), row = step.source->ne[0];
        step_ = &step;
        weighted_ = !step.copies() && has_importance(*step.source, options_);
        writer_.begin_tensor(step.source->name);
        // A row that is longer than a slice is not kept whole anywhere.
        const uint64_t rows_at_once = row <= kSliceValues ? n_rows : 1;
        for (uint64_t first = 0; first < n_rows; first += rows_at_once) {
            const Piece whole = {first, rows_at_once, 0, row};
            row_mean_square_.reset();
            if (row > kSliceValues && weighted_ && weighs_by_row(step.target.type))
                row_mean_square_ = mean_square(whole);
            const uint64_t per_window = whole.cut_values(kWindowValues);
            for (uint64_t at = 0; at < whole.n_values(); at += per_window)
                recode(whole.cut(at, std::min(per_window, whole.n_values() - at)));
        }
        flush();
    }

  private:
    struct Window {
        std::vector<std::byte> bytes;
        size_t used = 0;
    };
    struct Slice {
        std::vector<std::byte> source;
        std::vector<float> values;
        std::vector<float> importance;
    };

    // Encodes a piece into one window while the one before is written.
    void recode(const Piece& piece) {
        const uint64_t n_values = piece.n_values(), per_slice = piece.cut_values(kSliceValues);
        Window& window = windows_[current_];
        window.used = gguf::row_bytes(step_->target.type, n_values);
        if (window.bytes.size() < window.used) window.bytes.resize(window.used);
        const size_t n_slice = (n_values + per_slice - 1) / per_slice;
        std::vector<std::exception_ptr> failures(n_slice);
        WorkQueue queue(n_slice + 1, 1);
        pool_.parallel([&](int thread, int) {
            while (const auto item = queue.next()) {
                if (item.begin == 0) {
                    flush();
                    continue;
                }
                const size_t slice = item.begin - 1;
                const uint64_t first = slice * per_slice, n = std::min(per_slice, n_values - first);
                const auto out =
                    std::span(window.bytes)
                        .subspan(gguf::row_bytes(step_->target.type, first), gguf::row_bytes(step_->target.type, n));
                try {
                    encode(piece.cut(first, n), slices_[size_t(thread)], out);
                } catch (...) {
                    failures[slice] = std::current_exception();
                }
            }
        });
        for (const std::exception_ptr& failure : failures)
            if (failure) std::rethrow_exception(failure);  // the first row's, whichever thread met it
        pending_ = &window;
        pending_source_bytes_ = gguf::row_bytes(step_->source->type, n_values);
        current_ = 1 - current_;
    }

    void flush() {
        if (!pending_) return;
        writer_.write(std::span(pending_->bytes).first(pending_->used));
        if (progress_.advance) progress_.advance(pending_source_bytes_);
        pending_ = nullptr;
    }

    // Fills slice.source and, with `decoded`, slice.values.
    void read(const Piece& piece, bool decoded, Slice& slice) const {
        const TensorInfo& tensor = *step_->source;
        const uint64_t first = piece.first_row * tensor.ne[0] + piece.first_column;
        slice.source.resize(gguf::row_bytes(tensor.type, piece.n_values()));
        source_.read(tensor, gguf::row_bytes(tensor.type, first), slice.source);
        if (!decoded) return;
        slice.values.resize(piece.n_values());
        decode_row(tensor.type, slice.source, slice.values);
    }

    void encode(const Piece& piece, Slice& slice, std::span<std::byte> out) const {
        const TensorInfo& tensor = *step_->source;
        const TensorType target = step_->target.type;
        read(piece, !step_->copies(), slice);
        // Decoded values are quicker to look through, and any fault of a block shows in them.
        if (step_->copies() || !all_finite(slice.values)) check_finite(piece, tensor.type, slice.source, "");
        if (step_->copies()) {
            std::ranges::copy(slice.source, out.begin());
            return;
        }
        for (uint64_t at = 0; at < piece.n_rows;) {  // a matrix of experts has its own importance for each
            const uint64_t row = piece.first_row + at, n_left = tensor.ne[1] - row % tensor.ne[1];
            const uint64_t n_rows = weighted_ ? std::min(piece.n_rows - at, n_left) : piece.n_rows;
            EncodeOptions how;
            how.arithmetic = options_.arithmetic;
            how.row_mean_square = row_mean_square_;
            if (weighted_) {
                const uint64_t expert = row / tensor.ne[1] % tensor.ne[2];
                slice.importance.resize(piece.n_columns);
                options_.importance->load(tensor.name, expert * tensor.ne[0] + piece.first_column, slice.importance);
                how.importance = slice.importance;
            }
            const uint64_t first = at * piece.n_columns, n = n_rows * piece.n_columns;
            encode_rows(target, std::span<const float>(slice.values).subspan(first, n), int64_t(n_rows),
                        int64_t(piece.n_columns),
                        out.subspan(gguf::row_bytes(target, first), gguf::row_bytes(target, n)), how);
            at += n_rows;
        }
        check_finite(piece, target, out, fmt::format(" once encoded as {}", gguf::type_name(target)));
    }

    float mean_square(const Piece& row) {
        float sum = 0;
        for (uint64_t first = 0; first < row.n_columns; first += kSliceValues) {
            read(row.cut(first, std::min(kSliceValues, row.n_columns - first)), true, slices_[0]);
            sum = add_squares(options_.arithmetic, slices_[0].values, sum);
        }
        return sum / float(row.n_columns);
    }

    void check_finite(const Piece& piece, TensorType type, std::span<const std::byte> bytes,
                      const std::string& when) const {
        const auto bad = gguf::find_non_finite(type, bytes);
        if (!bad) return;
        throw FormatError(source_.path(),
                          fmt::format("tensor '{}', row {}, column {}", step_->source->name,
                                      piece.first_row + bad->index / piece.n_columns,
                                      piece.first_column + bad->index % piece.n_columns),
                          fmt::format("{}{}", bad->what, when), "finite weights");
    }

    const Gguf& source_;
    const QuantizeOptions& options_;
    gguf::Writer& writer_;
    ThreadPool& pool_;
    const QuantizeProgress& progress_;
    const QuantizeStep* step_ = nullptr;
    bool weighted_ = false;                 // by importance
    std::optional<float> row_mean_square_;  // where a piece is less than a row and needs it
    std::vector<Slice> slices_;             // by thread
    Window windows_[2];
    size_t current_ = 0;
    Window* pending_ = nullptr;  // encoded, not yet written
    uint64_t pending_source_bytes_ = 0;
};

}  // namespace

QuantizePlan plan_quantize(const Gguf& source, const QuantizeOptions& options) {
    if (source.parts().size() > 1 && !options.keep_split)
        throw Error(
            fmt::format("{} is a multi-part split ({} parts); quantize a single-file GGUF, then split the result, or "
                        "pass --keep-split",
                        source.path(), source.parts().size()));
    if (source.tensors().empty()) throw FormatError(source.path(), "tensors", "none", "at least one to encode");

    QuantizePlan result;
    result.metadata = output_metadata(source, options);
    std::vector<TensorFacts> facts;
    const auto order = output_order(source, options);
    for (const TensorInfo* tensor : order) facts.push_back({tensor->name, tensor->ne, tensor->type});
    const auto planned = plan(model_facts(source, result.metadata, options), facts, options.plan);
    for (size_t i = 0; i < order.size(); ++i) {
        const uint64_t nbytes = order[i]->n_rows() * gguf::row_bytes(planned[i].type, order[i]->ne[0]);
        result.steps.push_back({order[i], planned[i], nbytes});
        check_step(result.steps.back(), options);
        result.n_values += order[i]->n_values();
        result.source_bytes += order[i]->nbytes;
        result.target_bytes += nbytes;
    }
    return result;
}

std::vector<gguf::Writer::PlannedPart> planned_files(const Gguf& source, const QuantizePlan& plan,
                                                     const QuantizeOptions& options, const std::string& path) {
    gguf::Writer writer(path);
    describe_output(writer, source, plan, options);
    return writer.plan();
}

void quantize_model(const Gguf& source, const QuantizePlan& plan, const QuantizeOptions& options,
                    const std::string& path, ThreadPool& pool, const QuantizeProgress& progress) {
    gguf::Writer writer(path);
    describe_output(writer, source, plan, options);
    writer.begin();
    Recoder recoder(source, options, writer, pool, progress);
    for (size_t i = 0; i < plan.steps.size(); ++i) {
        if (progress.begin) progress.begin(i);
        recoder.run(plan.steps[i]);
    }
    writer.commit();
}

}  // namespace minfer::quant
