// A HuggingFace checkpoint to a GGUF file: plan first, which reads everything but the weights and refuses what cannot
// be converted, then run, which streams the weights.
//
//     Conversion conversion = plan_conversion(options);
//     conversion.run({});
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "convert/checkpoint.h"
#include "convert/tensor_map.h"
#include "gguf/writer.h"

namespace minfer::convert {

struct ConvertOptions {
    std::filesystem::path source;                   // the checkpoint's folder
    std::string output;                             // OUT.gguf; parts are named after it
    gguf::TensorType type = gguf::TensorType::F16;  // of matrices: F32, F16, BF16 or Q8_0
    bool require_chat_template = true;
    gguf::SplitLimits split = {};
};

// The --outtype of that name. Throws UnsupportedError, naming those there are.
gguf::TensorType parse_outtype(const std::string& name);

struct PlannedTensor {
    gguf::TensorSpec spec;
    MappedTensor mapped;         // when it comes from the checkpoint
    std::vector<float> factors;  // when it is computed: [head_dim / 2] of rope_freqs.weight
};

class Conversion {
  public:
    const std::vector<PlannedTensor>& tensors() const { return tensors_; }
    const Checkpoint& checkpoint() const { return checkpoint_; }
    const gguf::Writer& writer() const { return writer_; }            // with all metadata and tensors, not begun
    const std::vector<std::string>& notes() const { return notes_; }  // what a user should know, a line each
    uint64_t data_bytes() const;                                      // of all tensors, as written

    // Streams on two threads; a few megabytes of memory whatever the model. Once only. `report` hears of every piece,
    // one at a time, from either thread: its tensor, and its bytes as written. Throws IoError, and Error for a value
    // that the type cannot hold; then there is no output, and what was at its path is as it was.
    void run(const std::function<void(const PlannedTensor& tensor, uint64_t bytes)>& report);

  private:
    friend Conversion plan_conversion(const ConvertOptions& options);
    Conversion(Checkpoint checkpoint, const std::string& output)
        : checkpoint_(std::move(checkpoint)), writer_(output) {}

    Checkpoint checkpoint_;
    gguf::Writer writer_;
    std::vector<PlannedTensor> tensors_;
    std::vector<std::string> notes_;
};

// Throws IoError, FormatError and UnsupportedError; writes nothing.
Conversion plan_conversion(const ConvertOptions& options);

}  // namespace minfer::convert
