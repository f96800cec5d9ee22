#include "base/cpu_features.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace minfer {
namespace {

bool set_in_environment(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

#if defined(__x86_64__)

// The state components that the operating system saves (XCR0). In assembly, since the intrinsic would need -mxsave and
// this file is built for the base instruction set.
uint64_t enabled_state() {
    uint32_t low = 0, high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return uint64_t(high) << 32 | low;
}

struct Leaf {
    uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// All zero where the CPU has no such leaf.
Leaf cpuid(uint32_t leaf, uint32_t subleaf) {
    Leaf r;
    if (!__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx)) return {};
    return r;
}

// Tiles are 8 KiB of state a thread, which Linux saves only for processes that have asked for it (arch_prctl, since
// 5.16). Asking twice is the same as once.
bool may_use_tiles() {
#if defined(__linux__)
    constexpr long kRequestPermission = 0x1023, kTileData = 18;
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
    return false;
#endif
}

bool bit(uint32_t word, int i) { return (word >> i) & 1u; }

CpuFeatures detect() {
    CpuFeatures f;
    const Leaf one = cpuid(1, 0);
    if (!bit(one.ecx, 27) || !bit(one.ecx, 28)) return f;  // OSXSAVE, AVX
    const uint64_t state = enabled_state();
    const bool ymm = (state & 0x06) == 0x06;                 // xmm, upper halves of ymm
    const bool zmm = (state & 0xe6) == 0xe6;                 // and masks, upper halves of zmm, zmm16..31
    const bool tiles = (state & 0x60000) == 0x60000 && zmm;  // and tile configuration and data
    if (!ymm) return f;

    const Leaf seven = cpuid(7, 0);
    const Leaf seven_one = seven.eax >= 1 ? cpuid(7, 1) : Leaf{};
    f.avx2 = bit(seven.ebx, 5);
    f.fma = bit(one.ecx, 12);
    f.f16c = bit(one.ecx, 29);
    f.avx_vnni = bit(seven_one.eax, 4);
    f.avx512f = zmm && bit(seven.ebx, 16);
    f.avx512dq = f.avx512f && bit(seven.ebx, 17);
    f.avx512bw = f.avx512f && bit(seven.ebx, 30);
    f.avx512vl = f.avx512f && bit(seven.ebx, 31);
    f.avx512vnni = f.avx512f && bit(seven.ecx, 11);
    f.avx512_bf16 = f.avx512f && bit(seven_one.eax, 5);
    f.amx_tile = tiles && bit(seven.edx, 24) && may_use_tiles();
    f.amx_bf16 = f.amx_tile && bit(seven.edx, 22);
    f.amx_int8 = f.amx_tile && bit(seven.edx, 25);
    return f;
}

#elif defined(__aarch64__) && defined(__linux__)

CpuFeatures detect() {
    CpuFeatures f;
    f.neon = true;
    f.neon_dotprod = (getauxval(AT_HWCAP) >> 20) & 1u;  // HWCAP_ASIMDDP
    f.neon_i8mm = (getauxval(AT_HWCAP2) >> 13) & 1u;    // HWCAP2_I8MM
    return f;
}

#elif defined(__aarch64__) && defined(__APPLE__)

bool has(const char* name) {
    int value = 0;
    size_t size = sizeof value;
    return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}

CpuFeatures detect() {
    CpuFeatures f;
    f.neon = true;
    f.neon_dotprod = has("hw.optional.arm.FEAT_DotProd");
    f.neon_i8mm = has("hw.optional.arm.FEAT_I8MM");
    return f;
}

#else

CpuFeatures detect() { return {}; }

#endif

}  // namespace

CpuFeatures detect_cpu_features() { return detect(); }

void apply_environment(CpuFeatures& f) {
    const bool no_avx2 = set_in_environment("MINFER_NO_AVX2");
    const bool no_avx512 = no_avx2 || set_in_environment("MINFER_NO_AVX512");
    const bool no_vnni = set_in_environment("MINFER_NO_VNNI");
    if (no_avx2) f.avx2 = f.fma = f.f16c = f.avx_vnni = false;
    if (no_avx512) f.avx512f = f.avx512bw = f.avx512dq = f.avx512vl = f.avx512vnni = f.avx512_bf16 = false;
    if (no_vnni) f.avx512vnni = f.avx_vnni = false;
    if (no_avx512 || no_vnni || set_in_environment("MINFER_NO_AMX")) f.amx_tile = f.amx_int8 = f.amx_bf16 = false;
    if (set_in_environment("MINFER_NO_NEON")) f.neon = f.neon_dotprod = f.neon_i8mm = false;
}

CpuFeatures usable_cpu_features() {
    CpuFeatures features = detect_cpu_features();
    apply_environment(features);
    return features;
}

}  // namespace minfer
