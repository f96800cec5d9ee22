// What this CPU and this operating system can run. Kernel and encoder lists compare their needs with it at run time.
#pragma once

namespace minfer {

struct CpuFeatures {
    // x86-64. A flag is set only where the CPU has the instructions and the system saves the registers they use.
    bool avx2 = false;
    bool fma = false;
    bool f16c = false;
    bool avx512f = false;
    bool avx512bw = false;
    bool avx512dq = false;
    bool avx512vl = false;
    bool avx512vnni = false;
    bool avx512_bf16 = false;
    bool avx_vnni = false;  // the 256-bit form, VEX encoded
    bool amx_tile = false;  // and the kernel has allowed this process to use tiles; any of its threads then may
    bool amx_int8 = false;
    bool amx_bf16 = false;
    // AArch64, where the base set holds NEON with fma and the f16 conversions.
    bool neon = false;
    bool neon_dotprod = false;
    bool neon_i8mm = false;
};

// Asks the hardware (cpuid and xgetbv; getauxval) each time, and the kernel for the use of tiles; cheap enough for once
// a process, not for once a call.
CpuFeatures detect_cpu_features();

// Switches off what the environment forbids: MINFER_NO_AMX, MINFER_NO_VNNI (with AMX), MINFER_NO_AVX512 (all of AVX-512
// and AMX), MINFER_NO_AVX2 (everything of x86 above the base set) and MINFER_NO_NEON, each when set to anything but the
// empty word or 0.
void apply_environment(CpuFeatures& features);

// What there is and the environment allows.
CpuFeatures usable_cpu_features();

}  // namespace minfer
