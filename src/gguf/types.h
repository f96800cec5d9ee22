// The tensor types of GGUF: ggml's numbers, names and block sizes, as of llama.cpp v0.5.0.
// Source: github.com/ggml-org/llama.cpp, ggml/include/ggml.h and ggml/src/ggml-common.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace minfer::gguf {

enum class TensorType : uint32_t {
    F32 = 0,
    F16 = 1,
    Q4_0 = 2,
    Q4_1 = 3,
    Q5_0 = 6,
    Q5_1 = 7,
    Q8_0 = 8,
    Q8_1 = 9,
    Q2_K = 10,
    Q3_K = 11,
    Q4_K = 12,
    Q5_K = 13,
    Q6_K = 14,
    Q8_K = 15,
    IQ2_XXS = 16,
    IQ2_XS = 17,
    IQ3_XXS = 18,
    IQ1_S = 19,
    IQ4_NL = 20,
    IQ3_S = 21,
    IQ2_S = 22,
    IQ4_XS = 23,
    I8 = 24,
    I16 = 25,
    I32 = 26,
    I64 = 27,
    F64 = 28,
    IQ1_M = 29,
    BF16 = 30,
    TQ1_0 = 34,
    TQ2_0 = 35,
    MXFP4 = 39,
    NVFP4 = 40,
    Q1_0 = 41,
    Q2_0 = 42,
};

// All of the above, in ascending order of their numbers.
std::span<const TensorType> all_tensor_types();

// The type of that number, or nothing.
std::optional<TensorType> tensor_type(uint32_t number);
// What to say of a number that tensor_type() does not know: "43", or "31 (Q4_0_4_4, removed from GGUF)".
std::string describe_unknown_type(uint32_t number);

// ggml's spelling: "f16", "q4_0", "q4_K", "iq4_xs".
std::string_view type_name(TensorType type);
// The type of that name, in any case of letters, or nothing.
std::optional<TensorType> type_from_name(std::string_view name);

uint32_t block_size(TensorType type);  // values in a block; 1 for plain numbers
uint32_t type_size(TensorType type);   // bytes of a block
// Bytes of a row of `n` values. Throws ShapeError unless `n` is a multiple of the block size, or where 64 bits
// overflow.
uint64_t row_bytes(TensorType type, uint64_t n);

}  // namespace minfer::gguf
