#include <immintrin.h>

#include <cstdint>

#include "quant/blocks.h"
#include "quant/contraction.h"
#include "quant/encoder_sets.h"

namespace minfer::quant {
namespace {

// clang-format off: the lanes come first
#include "quant/lanes_avx512.inl"
#include "quant/encoders.inl"
// clang-format on

}  // namespace

const EncoderFunctions kAvx512Encoders = kFunctions;

}  // namespace minfer::quant
