#include "quant/quantize_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "quant/decode.h"
#include "quant/encode.h"
#include "quant/finite.h"

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
    std::erase_if(metadata, [](const KeyValue& entry) { return entry.key.starts_with("split."); });
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
            if (const auto n = first_number(*value)) return *n;
            throw FormatError(source.path(), "key '" + key + "'", value->describe(), "an integer, or an array of them");
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

bool is_float(TensorType type) {
    return type == TensorType::F32 || type == TensorType::F16 || type == TensorType::BF16;
}

// The importance of a tensor's inputs, [ne[2]][ne[0]]; empty where there is none.
std::span<const float> importance_of(const TensorInfo& tensor, const QuantizeOptions& options) {
    if (!options.importance) return {};
    const auto found = options.importance->find(tensor.name);
    if (!found) return {};
    const uint64_t expected = tensor.ne[0] * tensor.ne[2];
    if (found->size() == expected) return *found;
    if (tensor.name == "token_embd.weight") return {};  // measured on ids, not on inputs
    throw FormatError(options.importance->path(), fmt::format("entry '{}'", tensor.name),
                      fmt::format("{} values", found->size()), fmt::format("{}, as the tensor has inputs", expected));
}

void check_step(const QuantizeStep& step, const QuantizeOptions& options) {
    const TensorInfo& tensor = *step.source;
    if (step.target.needs_importance && importance_of(tensor, options).empty())
        throw Error(
            fmt::format("tensor '{}' would be {} in a {} file, which takes an importance matrix: pass --imatrix FILE "
                        "with an entry for it",
                        tensor.name, gguf::type_name(step.target.type), options.plan.scheme.name));
    if (step.copies()) return;
    if (!is_float(tensor.type) && !options.allow_requantize && gguf::block_size(tensor.type) > 1)
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
    if (options.keep_split) writer.split(std::move(parts));
    if (options.split) writer.split(*options.split);
}

// What one window of rows passes through. A window is what all threads work on at once: large enough that meeting at
// its end costs nothing, small enough that its bytes stay in the last-level cache and out of the memory bill.
constexpr size_t kWindowValues = size_t(1) << 20;
// What one thread takes of it at a time: floats that stay in L2 from decoding to encoding.
constexpr size_t kSliceValues = size_t(1) << 15;

class Recoder {
  public:
    Recoder(const Gguf& source, const QuantizeOptions& options, gguf::Writer& writer, ThreadPool& pool,
            const QuantizeProgress& progress)
        : source_(source), options_(options), writer_(writer), pool_(pool), progress_(progress) {
        slices_.resize(size_t(pool.size()));
    }

    void run(const QuantizeStep& step) {
        const TensorInfo& tensor = *step.source;
        const uint64_t n_rows = tensor.n_rows(), row = tensor.ne[0];
        const uint64_t per_window = std::max<uint64_t>(1, kWindowValues / row);
        writer_.begin_tensor(tensor.name);
        for (uint64_t first = 0; first < n_rows; first += per_window)
            recode(step, first, std::min(per_window, n_rows - first));
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
    };

    // Encodes rows into one window while the one before is written.
    void recode(const QuantizeStep& step, uint64_t first, uint64_t n_rows) {
        const TensorInfo& tensor = *step.source;
        const size_t row_out = gguf::row_bytes(step.target.type, tensor.ne[0]);
        Window& window = windows_[current_];
        window.used = n_rows * row_out;
        if (window.bytes.size() < window.used) window.bytes.resize(window.used);
        const uint64_t per_slice = std::max<uint64_t>(1, kSliceValues / tensor.ne[0]);
        const size_t n_slice = (n_rows + per_slice - 1) / per_slice;
        std::vector<std::exception_ptr> failures(n_slice);
        WorkQueue queue(n_slice + 1, 1);
        pool_.parallel([&](int thread, int) {
            while (const auto piece = queue.next()) {
                if (piece.begin == 0) {
                    flush();
                    continue;
                }
                const size_t slice = piece.begin - 1;
                const uint64_t from = slice * per_slice, count = std::min(per_slice, n_rows - from);
                try {
                    encode(step, first + from, count, slices_[size_t(thread)], &window.bytes[from * row_out]);
                } catch (...) {
                    failures[slice] = std::current_exception();
                }
            }
        });
        for (const std::exception_ptr& failure : failures)
            if (failure) std::rethrow_exception(failure);  // the first row's, whichever thread met it
        pending_ = &window;
        pending_source_bytes_ = n_rows * tensor.row_nbytes();
        current_ = 1 - current_;
    }

    void flush() {
        if (!pending_) return;
        writer_.write(std::span(pending_->bytes).first(pending_->used));
        if (progress_.advance) progress_.advance(pending_source_bytes_);
        pending_ = nullptr;
    }

    void encode(const QuantizeStep& step, uint64_t first, uint64_t n_rows, Slice& slice, std::byte* out) const {
        const TensorInfo& tensor = *step.source;
        const size_t row = tensor.ne[0], row_in = tensor.row_nbytes();
        const size_t row_out = gguf::row_bytes(step.target.type, row);
        slice.source.resize(n_rows * row_in);
        source_.read(tensor, first * row_in, slice.source);
        check_finite(tensor, tensor.type, slice.source, first, "");
        const std::span<std::byte> encoded(out, n_rows * row_out);
        if (step.copies()) {
            std::copy(slice.source.begin(), slice.source.end(), encoded.begin());
            return;
        }
        slice.values.resize(n_rows * row);
        decode_row(tensor.type, slice.source, slice.values);
        const std::span<const float> importance = importance_of(tensor, options_);
        for (uint64_t at = 0; at < n_rows;) {  // a matrix of experts has its own importance for each
            const uint64_t expert = (first + at) / tensor.ne[1];
            const uint64_t count =
                importance.empty() ? n_rows : std::min(n_rows - at, (expert + 1) * tensor.ne[1] - first - at);
            EncodeOptions how;
            how.arithmetic = options_.arithmetic;
            if (!importance.empty()) how.importance = importance.subspan(expert % tensor.ne[2] * row, row);
            encode_rows(step.target.type, std::span<const float>(slice.values).subspan(at * row, count * row), count,
                        row, encoded.subspan(at * row_out, count * row_out), how);
            at += count;
        }
        check_finite(tensor, step.target.type, encoded, first,
                     fmt::format(" once encoded as {}", gguf::type_name(step.target.type)));
    }

    void check_finite(const TensorInfo& tensor, TensorType type, std::span<const std::byte> bytes, uint64_t first_row,
                      const std::string& when) const {
        const auto bad = find_non_finite(type, bytes);
        if (!bad) return;
        throw FormatError(source_.path(),
                          fmt::format("tensor '{}', row {}, column {}", tensor.name,
                                      first_row + bad->index / tensor.ne[0], bad->index % tensor.ne[0]),
                          fmt::format("{}{}", bad->what, when), "finite weights");
    }

    const Gguf& source_;
    const QuantizeOptions& options_;
    gguf::Writer& writer_;
    ThreadPool& pool_;
    const QuantizeProgress& progress_;
    std::vector<Slice> slices_;  // by thread
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
