// How a checkpoint's tensors become GGUF's: names, shapes that the configuration demands, and the order of query and
// key rows. docs/convert.md has the tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "convert/checkpoint.h"
#include "convert/model_config.h"

namespace minfer::convert {

struct MappedTensor {
    size_t source = 0;            // index into the checkpoint's tensors
    std::string name;             // GGUF's
    std::vector<uint64_t> shape;  // HuggingFace's order: [rows, columns] or [values]
    // Llama's query and key rows are reordered head by head, from HuggingFace's two halves of a rotary pair to GGUF's
    // adjacent ones. 0: rows keep their order; else the number of heads.
    uint64_t permuted_heads = 0;
};

// In the checkpoint's order. Buffers that only cache rotary frequencies are left out; every other tensor is mapped, or
// refused by name. Throws UnsupportedError for a tensor without a mapping or of a type that minfer does not convert,
// and FormatError for a tensor that is missing or of another shape than config.json says, and for a separate output or
// biases that contradict config.json's flags. `checkpoint_path` is for messages.
std::vector<MappedTensor> map_tensors(const Checkpoint& checkpoint, const ModelConfig& config,
                                      const std::string& checkpoint_path);

// The row of the checkpoint that becomes row `row` of a permuted tensor with heads of `head_rows` rows.
constexpr uint64_t permuted_source_row(uint64_t row, uint64_t head_rows) {
    const uint64_t in_head = row % head_rows;
    return row - in_head + (in_head % 2) * (head_rows / 2) + in_head / 2;
}

}  // namespace minfer::convert
