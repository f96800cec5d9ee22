// The targets of `minfer quantize --type`: what each is called, and the file type that it writes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "gguf/types.h"

namespace minfer::quant {

// Values of the key general.file_type: llama.cpp's llama_ftype numbers.
enum class FileType : uint32_t {
    F32 = 0,
    F16 = 1,
    Q4_0 = 2,
    Q4_1 = 3,
    Q8_0 = 7,
    Q5_0 = 8,
    Q5_1 = 9,
    Q2_K = 10,
    Q3_K_S = 11,
    Q3_K_M = 12,
    Q3_K_L = 13,
    Q4_K_S = 14,
    Q4_K_M = 15,
    Q5_K_S = 16,
    Q5_K_M = 17,
    Q6_K = 18,
    Q2_K_S = 21,
    IQ4_NL = 25,
    IQ4_XS = 30,
    BF16 = 32,
};

struct Scheme {
    std::string_view name;  // as typed, in any case of letters
    FileType file_type;
    gguf::TensorType base;  // the type of every tensor that no rule treats otherwise
    bool pure;              // one uniform type unless --mixture asks for the rules, which --pure turns off
};

// All of them, in the order in which messages list them.
std::span<const Scheme> schemes();
// "q4_0, q4_1, …": for messages.
std::string scheme_names();
// Throws Error with the specification's words: for a type that GGUF has and minfer cannot encode, and for no type.
const Scheme& find_scheme(std::string_view name);

}  // namespace minfer::quant
