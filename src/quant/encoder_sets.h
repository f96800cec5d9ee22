// What the file of each instruction set defines for the rest of the program, and all of it (scripts/check-isa-symbols).
// In encoders.cpp they become sets with names and needs.
#pragma once

#include "quant/encoders.h"

namespace minfer::quant {

extern const EncoderFunctions kScalarEncoders, kAvx2Encoders, kAvx512Encoders, kNeonEncoders;

}  // namespace minfer::quant
