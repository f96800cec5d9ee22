#include <immintrin.h>

#include <cstdint>

#include "quant/blocks.h"
#include "quant/contraction.h"
#include "quant/encoder_sets.h"

namespace minfer::quant {
namespace {

// clang-format off: the lanes come first
#include "quant/lanes_avx2.inl"
#include "quant/encoders.inl"
// clang-format on

}  // namespace

bool encode_avx2(gguf::TensorType type, Arithmetic arithmetic, const EncodeJob& job) {
    return encode_blocks_of(type, arithmetic, job);
}

}  // namespace minfer::quant
