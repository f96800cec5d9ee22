// The function of each instruction set's file. In encoders.cpp they become sets with names and needs.
#pragma once

#include "quant/encoders.h"

namespace minfer::quant {

bool encode_scalar(gguf::TensorType type, Arithmetic arithmetic, const EncodeJob& job);
bool encode_avx2(gguf::TensorType type, Arithmetic arithmetic, const EncodeJob& job);
bool encode_avx512(gguf::TensorType type, Arithmetic arithmetic, const EncodeJob& job);
bool encode_neon(gguf::TensorType type, Arithmetic arithmetic, const EncodeJob& job);

}  // namespace minfer::quant
