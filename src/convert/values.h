// Turning a checkpoint's values into those of a GGUF tensor, to the bit as the reference does with numpy and torch:
// rounding to nearest even, f16's subnormals and overflow to infinity; NaNs keep their payload, and become quiet only
// on the way to bf16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/cpu_features.h"
#include "convert/safetensors.h"
#include "gguf/types.h"

namespace minfer::convert {

// The conversions for one instruction set. Each takes `n` values, at any address; in and out do not overlap.
struct ValueKernels {
    std::string_view name;
    void (*f16_to_f32)(const void* in, void* out, size_t n);
    void (*bf16_to_f32)(const void* in, void* out, size_t n);
    void (*f32_to_f16)(const void* in, void* out, size_t n);
    void (*f32_to_bf16)(const void* in, void* out, size_t n);
};

// Plain C++, the definition of the others.
const ValueKernels& portable_value_kernels();
// With F16C's instructions, or nothing where this build or `cpu` has none.
const ValueKernels* f16c_value_kernels(const CpuFeatures& cpu);
const ValueKernels& choose_value_kernels(const CpuFeatures& cpu);

size_t value_size(Dtype dtype);  // bytes; 0 for Other

// Whether values of type `from` are written in type `to` as they stand. bf16 to bf16 is no copy: the reference widens
// and rounds, which makes NaNs quiet.
bool is_same(Dtype from, gguf::TensorType to);

// Converts values of type `from` (not Other) to blocks of type `to` (F32, F16, BF16 or Q8_0; for Q8_0 they must be
// finite). `in` holds whole values and `out` exactly their blocks. Throws ShapeError where the sizes do not go
// together.
void convert_values(const ValueKernels& kernels, Dtype from, std::span<const std::byte> in, gguf::TensorType to,
                    std::span<std::byte> out);

}  // namespace minfer::convert
