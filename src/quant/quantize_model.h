// Re-encoding a whole GGUF file: what `minfer quantize` does, apart from words.
//
// plan_quantize() decides, and refuses what cannot be done, before a byte is written. quantize_model() then streams the
// tensors through: it reads them by position, decodes and encodes them on all threads, and writes them in order. Its
// memory does not depend on the model: no row, and no importance matrix, is held whole.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/threads.h"
#include "gguf/reader.h"
#include "gguf/writer.h"
#include "quant/arithmetic.h"
#include "quant/importance.h"
#include "quant/planner.h"

namespace minfer::quant {

// More have nothing to do, and each has buffers.
constexpr int kMaxQuantizeThreads = 32;

struct QuantizeOptions {
    PlanOptions plan;
    Arithmetic arithmetic = Arithmetic::x86_64;
    const Importance* importance = nullptr;  // borrowed
    bool allow_requantize = false;
    bool keep_split = false;                    // parts as the source has them
    std::optional<gguf::SplitLimits> split;     // parts of a bounded size
    std::vector<gguf::KeyValue> override_keys;  // set in the output, and read by the planner
};

struct QuantizeStep {
    const gguf::TensorInfo* source;  // borrowed from the source
    PlannedTensor target;
    uint64_t nbytes;  // in the output

    bool copies() const { return source->type == target.type; }
};

struct QuantizePlan {
    std::vector<gguf::KeyValue> metadata;
    std::vector<QuantizeStep> steps;  // in the output's order
    uint64_t n_values = 0;
    uint64_t source_bytes = 0;
    uint64_t target_bytes = 0;
};

// Throws Error for what is refused: a source in parts without keep_split, a source type that would lose quality or has
// no decoder, a type that needs an importance matrix, importance of another size than its tensor. It borrows `source`.
QuantizePlan plan_quantize(const gguf::Gguf& source, const QuantizeOptions& options);

// The files that quantize_model() would write.
std::vector<gguf::Writer::PlannedPart> planned_files(const gguf::Gguf& source, const QuantizePlan& plan,
                                                     const QuantizeOptions& options, const std::string& path);

// Hears of the work: a step's index when it starts, and the source's bytes as they are done with.
struct QuantizeProgress {
    std::function<void(size_t step)> begin;
    std::function<void(uint64_t source_bytes)> advance;
};

// Writes the plan to `path` (or parts named after it), whole or not at all. Throws Error naming tensor, row and column
// for a value that is NaN or infinite, or whose block's scale becomes so; IoError.
void quantize_model(const gguf::Gguf& source, const QuantizePlan& plan, const QuantizeOptions& options,
                    const std::string& path, ThreadPool& pool, const QuantizeProgress& progress);

}  // namespace minfer::quant
