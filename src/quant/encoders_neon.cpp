#include <arm_neon.h>

#include <cstdint>

#include "quant/blocks.h"
#include "quant/contraction.h"
#include "quant/encoder_sets.h"

namespace minfer::quant {
namespace {

// clang-format off: the lanes come first
#include "quant/lanes_neon.inl"
#include "quant/encoders.inl"
// clang-format on

}  // namespace

const EncoderFunctions kNeonEncoders = kFunctions;

}  // namespace minfer::quant
