// The block encoders and the conversions of plain rows, one set an instruction set. Every set writes the same bytes;
// encode.h and decode.h are the interface.
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
    const float* row_mean_square;  // of the row that these blocks are a part of; nullptr for whole rows
    uint8_t* dst;                  // [n_blocks][bytes a block]
};

// Rows of 16-bit numbers lie at any address; the two rows of a conversion do not overlap.
struct EncoderFunctions {
    // False if `type` is none of Q4_0 .. Q8_0, Q2_K .. Q6_K, IQ4_NL, IQ4_XS.
    bool (*encode)(gguf::TensorType type, Arithmetic arithmetic, const EncodeJob& job);
    void (*widen_f16)(const uint8_t* in, float* out, int64_t n);
    void (*widen_bf16)(const uint8_t* in, float* out, int64_t n);
    void (*narrow_f16)(Arithmetic arithmetic, const float* in, uint8_t* out, int64_t n);
    void (*narrow_bf16)(const float* in, uint8_t* out, int64_t n);
    bool (*all_finite)(const float* x, int64_t n);
    float (*add_squares)(Arithmetic arithmetic, const float* x, int64_t n, float sum);  // see encode.h
};

struct EncoderSet {
    std::string_view name;
    bool (*runs_on)(const CpuFeatures& cpu);
    const EncoderFunctions* functions;
};

// Those of this build, best first; "scalar", which needs nothing, is last.
std::span<const EncoderSet* const> all_encoder_sets();

// The first that runs on `cpu`, or the one of that name. Throws UsageError if there is no such name, or if `cpu` lacks
// what it needs.
const EncoderSet& choose_encoder_set(const CpuFeatures& cpu, std::string_view name = {});

// The best for this CPU and environment, asked once: the answer cannot change within a process.
const EncoderSet& default_encoder_set();

}  // namespace minfer::quant
