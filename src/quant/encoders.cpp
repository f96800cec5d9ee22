#include "quant/encoders.h"

#include <string>

#include "base/error.h"
#include "quant/encoder_sets.h"

namespace minfer::quant {
namespace {

constexpr EncoderSet kScalar = {"scalar", [](const CpuFeatures&) { return true; }, &kScalarEncoders};
#if defined(__x86_64__)
constexpr EncoderSet kAvx2 = {"avx2", [](const CpuFeatures& cpu) { return cpu.avx2 && cpu.fma && cpu.f16c; },
                              &kAvx2Encoders};
constexpr EncoderSet kAvx512 = {"avx512", [](const CpuFeatures& cpu) { return cpu.avx512f; }, &kAvx512Encoders};
constexpr const EncoderSet* kSets[] = {&kAvx512, &kAvx2, &kScalar};
#elif defined(__aarch64__)
constexpr EncoderSet kNeon = {"neon", [](const CpuFeatures& cpu) { return cpu.neon; }, &kNeonEncoders};
constexpr const EncoderSet* kSets[] = {&kNeon, &kScalar};
#else
constexpr const EncoderSet* kSets[] = {&kScalar};
#endif

}  // namespace

std::span<const EncoderSet* const> all_encoder_sets() { return kSets; }

const EncoderSet& choose_encoder_set(const CpuFeatures& cpu, std::string_view name) {
    std::string names;
    for (const EncoderSet* set : kSets) {
        if (name.empty() && set->runs_on(cpu)) return *set;
        if (name == set->name) {
            if (set->runs_on(cpu)) return *set;
            throw UsageError("encoders: this CPU, or the environment, does not let the set " + std::string(name) +
                             " run");
        }
        names += names.empty() ? "" : ", ";
        names += set->name;
    }
    throw UsageError("encoders: no set named " + std::string(name) + "; there are " + names);
}

const EncoderSet& default_encoder_set() {
    static const EncoderSet& set = choose_encoder_set(usable_cpu_features());
    return set;
}

}  // namespace minfer::quant
