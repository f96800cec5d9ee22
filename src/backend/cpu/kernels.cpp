// Compiled for the base set of the architecture, for it runs before anything is known of the CPU.
#include "backend/cpu/kernels.h"

#include <fmt/format.h>

#include <array>

#include "backend/cpu/add.h"
#include "backend/cpu/compact_reference.h"
#include "backend/cpu/kernels_list.h"
#include "backend/cpu/matmul_reference.h"
#include "backend/cpu/rms_norm.h"
#include "backend/cpu/rope.h"
#include "backend/cpu/swiglu.h"
#include "base/error.h"

namespace minfer::cpu {

namespace {

using enum gguf::TensorType;

constexpr std::array<gguf::TensorType, kWeightTypes> kTypes = {F32,  F16,  BF16, Q4_0, Q4_1, Q5_0,   Q5_1,  Q8_0,
                                                               Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS};

template <gguf::TensorType type>
constexpr MatmulKernels kReference = {.rows = &matmul_rows_reference<type>,
                                      .repack = &matmul_repack_reference<type>,
                                      .compact = &matmul_compact_reference<type>};

constexpr const Kernels* kAllKernels[] = {
#if defined(__x86_64__)
    &kAmxKernels,    &kAvx512VnniKernels, &kAvx512Kernels, &kAvxVnniKernels, &kAvx2Kernels,
#elif defined(__aarch64__)
    &kNeonI8mmKernels,
    &kNeonDotprodKernels,
    &kNeonKernels,
#endif
    &kScalarKernels,
};

struct Feature {
    const char* name;
    bool CpuFeatures::* flag;
};
constexpr Feature kFeatures[] = {
    {"avx2", &CpuFeatures::avx2},
    {"fma", &CpuFeatures::fma},
    {"f16c", &CpuFeatures::f16c},
    {"avx512f", &CpuFeatures::avx512f},
    {"avx512bw", &CpuFeatures::avx512bw},
    {"avx512dq", &CpuFeatures::avx512dq},
    {"avx512vl", &CpuFeatures::avx512vl},
    {"avx512vnni", &CpuFeatures::avx512vnni},
    {"avx512_bf16", &CpuFeatures::avx512_bf16},
    {"avx_vnni", &CpuFeatures::avx_vnni},
    {"amx_tile", &CpuFeatures::amx_tile},
    {"amx_int8", &CpuFeatures::amx_int8},
    {"amx_bf16", &CpuFeatures::amx_bf16},
    {"neon", &CpuFeatures::neon},
    {"neon_dotprod", &CpuFeatures::neon_dotprod},
    {"neon_i8mm", &CpuFeatures::neon_i8mm},
};

}  // namespace

extern constinit const Kernels kScalarKernels = {
    .name = "scalar",
    .needs = {},
    .rms_norm_row = &rms_norm_row_reference,
    .add_row = &add_row_reference,
    .mul_row = &mul_row_reference,
    .silu_row = &silu_row_reference,
    .swiglu_row = &swiglu_row_reference,
    .rope_interleaved = &rope_interleaved_reference,
    .rope_halves = &rope_halves_reference,
    .quantize_row = &quantize_row_reference,
    .arranged_bytes = nullptr,
    .arrange = nullptr,
    .attention_tile = &attention_tile_reference,
    .attention_across = nullptr,
    .attention_merge = &attention_merge_reference,
    .attention_finish = &attention_finish_reference,
    .encode_f16_row = &encode_f16_row_reference,
    .decode_f16_row = &decode_f16_row_reference,
    .decode_q8_0_row = &decode_q8_0_row_reference,
    .matmul = {kReference<F32>, kReference<F16>, kReference<BF16>, kReference<Q4_0>, kReference<Q4_1>, kReference<Q5_0>,
               kReference<Q5_1>, kReference<Q8_0>, kReference<Q2_K>, kReference<Q3_K>, kReference<Q4_K>,
               kReference<Q5_K>, kReference<Q6_K>, kReference<IQ4_NL>, kReference<IQ4_XS>},
};

bool supports_weights(gguf::TensorType type) {
    for (const gguf::TensorType t : kTypes)
        if (t == type) return true;
    return false;
}

size_t weight_index(gguf::TensorType type) {
    for (size_t i = 0; i < kTypes.size(); ++i)
        if (kTypes[i] == type) return i;
    throw UnsupportedError(fmt::format("cpu: no kernels for weights of type {}", gguf::type_name(type)));
}

std::span<const Kernels* const> all_kernels() { return kAllKernels; }
const Kernels& scalar_kernels() { return kScalarKernels; }

std::string missing_features(const CpuFeatures& needs, const CpuFeatures& features) {
    std::string missing;
    for (const Feature& f : kFeatures)
        if (needs.*f.flag && !(features.*f.flag)) missing += (missing.empty() ? "" : ", ") + std::string(f.name);
    return missing;
}

std::string missing_features(const Kernels& kernels, const CpuFeatures& features) {
    return missing_features(kernels.needs, features);
}

const Kernels& choose_kernels(const CpuFeatures& features, std::string_view forced) {
    std::string names;
    for (const Kernels* k : kAllKernels) {
        const std::string missing = missing_features(*k, features);
        if (forced.empty() && missing.empty()) return *k;
        if (forced == k->name) {
            if (missing.empty()) return *k;
            throw UnsupportedError(
                fmt::format("kernels: {} need {}, which this CPU lacks or the environment forbids", forced, missing));
        }
        names += (names.empty() ? "" : ", ") + std::string(k->name);
    }
    throw UsageError(fmt::format("kernels: no set named '{}'; there are {}", forced, names));
}

}  // namespace minfer::cpu
