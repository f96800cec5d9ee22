#include "quant/scheme.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>

#include "base/error.h"

namespace minfer::quant {

namespace {

using gguf::TensorType;

// llama-quantize's q3_K, q4_K and q5_K are names of mixtures; here, as in the specification, a plain K or IQ name is
// the uniform file that llama-quantize --pure writes, under the same file type.
constexpr Scheme kSchemes[] = {
    {"q4_0", FileType::Q4_0, TensorType::Q4_0, false},      {"q4_1", FileType::Q4_1, TensorType::Q4_1, false},
    {"q5_0", FileType::Q5_0, TensorType::Q5_0, false},      {"q5_1", FileType::Q5_1, TensorType::Q5_1, false},
    {"q8_0", FileType::Q8_0, TensorType::Q8_0, false},      {"q2_K", FileType::Q2_K, TensorType::Q2_K, true},
    {"q3_K", FileType::Q3_K_M, TensorType::Q3_K, true},     {"q4_K", FileType::Q4_K_M, TensorType::Q4_K, true},
    {"q5_K", FileType::Q5_K_M, TensorType::Q5_K, true},     {"q6_K", FileType::Q6_K, TensorType::Q6_K, true},
    {"iq4_nl", FileType::IQ4_NL, TensorType::IQ4_NL, true}, {"iq4_xs", FileType::IQ4_XS, TensorType::IQ4_XS, true},
    {"q2_K_S", FileType::Q2_K_S, TensorType::Q2_K, false},  {"q3_K_S", FileType::Q3_K_S, TensorType::Q3_K, false},
    {"q3_K_M", FileType::Q3_K_M, TensorType::Q3_K, false},  {"q3_K_L", FileType::Q3_K_L, TensorType::Q3_K, false},
    {"q4_K_S", FileType::Q4_K_S, TensorType::Q4_K, false},  {"q4_K_M", FileType::Q4_K_M, TensorType::Q4_K, false},
    {"q5_K_S", FileType::Q5_K_S, TensorType::Q5_K, false},  {"q5_K_M", FileType::Q5_K_M, TensorType::Q5_K, false},
    {"f16", FileType::F16, TensorType::F16, false},         {"bf16", FileType::BF16, TensorType::BF16, false},
    {"f32", FileType::F32, TensorType::F32, false},
};

bool same_letters(std::string_view a, std::string_view b) {
    return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

std::span<const Scheme> schemes() { return kSchemes; }

std::string scheme_names() {
    std::string names;
    for (const Scheme& scheme : kSchemes) {
        if (!names.empty()) names += ", ";
        names += scheme.name;
    }
    return names;
}

const Scheme& find_scheme(std::string_view name) {
    for (const Scheme& scheme : kSchemes)
        if (same_letters(scheme.name, name)) return scheme;
    if (gguf::type_from_name(name))
        throw UnsupportedError(fmt::format(
            "target \"{}\" is a known GGUF type but minfer has no weight encoder for it (minfer can only read it, so "
            "writing it would emit wrong weights); supported encoder targets: {}",
            name, scheme_names()));
    throw Error(fmt::format("unknown quant target \"{}\"; supported: {}", name, scheme_names()));
}

}  // namespace minfer::quant
