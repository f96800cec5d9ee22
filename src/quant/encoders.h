// The block encoders, one set an instruction set. Every set writes the same bytes; encode.h is the interface.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/cpu_features.h"
#include "gguf/types.h"
#include "quant/arithmetic.h"

namespace minfer::quant {

struct EncodeJob {
    const float* src;         // [n_blocks][values a block]
    const float* importance;  // [blocks_per_row][values a block], one row's; nullptr for none
    int64_t n_blocks;         // whole rows
    int64_t blocks_per_row;
    uint8_t* dst;  // [n_blocks][bytes a block]
};

// False if `type` is none of Q4_0 .. Q8_0, Q2_K .. Q6_K, IQ4_NL, IQ4_XS.
using EncodeBlocks = bool (*)(gguf::TensorType type, Arithmetic arithmetic, const EncodeJob& job);

struct EncoderSet {
    std::string_view name;
    bool (*runs_on)(const CpuFeatures& cpu);
    const EncodeBlocks* encode;
};

// Those of this build, best first; "scalar", which needs nothing, is last.
std::span<const EncoderSet* const> all_encoder_sets();

// The first that runs on `cpu`, or the one of that name. Throws UsageError if there is no such name, or if `cpu` lacks
// what it needs.
const EncoderSet& choose_encoder_set(const CpuFeatures& cpu, std::string_view name = {});

}  // namespace minfer::quant
