#include "base/cpu_features.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace {

using minfer::CpuFeatures;

// The words of the `flags` (x86) or `Features` (Arm) line of /proc/cpuinfo: the kernel's own answer.
std::set<std::string> kernel_flags() {
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    std::set<std::string> words;
    while (std::getline(file, line)) {
        if (line.rfind("flags", 0) != 0 && line.rfind("Features", 0) != 0) continue;
        std::istringstream stream(line.substr(line.find(':') + 1));
        for (std::string word; stream >> word;) words.insert(word);
        break;
    }
    return words;
}

TEST(CpuFeatures, AgreesWithTheKernel) {
    const std::set<std::string> flags = kernel_flags();
    if (flags.empty()) GTEST_SKIP() << "no /proc/cpuinfo with flags";
    const CpuFeatures f = minfer::detect_cpu_features();
    EXPECT_EQ(f.avx2, flags.contains("avx2"));
    EXPECT_EQ(f.fma, flags.contains("fma"));
    EXPECT_EQ(f.f16c, flags.contains("f16c"));
    EXPECT_EQ(f.avx512f, flags.contains("avx512f"));
    EXPECT_EQ(f.avx512bw, flags.contains("avx512bw"));
    EXPECT_EQ(f.avx512dq, flags.contains("avx512dq"));
    EXPECT_EQ(f.avx512vl, flags.contains("avx512vl"));
    EXPECT_EQ(f.avx512vnni, flags.contains("avx512_vnni"));
    EXPECT_EQ(f.avx512_bf16, flags.contains("avx512_bf16"));
    EXPECT_EQ(f.avx_vnni, flags.contains("avx_vnni"));
    EXPECT_EQ(f.amx_tile, flags.contains("amx_tile"));
    EXPECT_EQ(f.amx_int8, flags.contains("amx_int8"));
    EXPECT_EQ(f.amx_bf16, flags.contains("amx_bf16"));
    EXPECT_EQ(f.neon, flags.contains("asimd"));
    EXPECT_EQ(f.neon_dotprod, flags.contains("asimddp"));
    EXPECT_EQ(f.neon_i8mm, flags.contains("i8mm"));
}

// Every feature on, so that what a variable switches off shows on any machine.
CpuFeatures everything() {
    CpuFeatures f;
    f.avx2 = f.fma = f.f16c = f.avx_vnni = true;
    f.avx512f = f.avx512bw = f.avx512dq = f.avx512vl = f.avx512vnni = f.avx512_bf16 = true;
    f.amx_tile = f.amx_int8 = f.amx_bf16 = true;
    f.neon = f.neon_dotprod = f.neon_i8mm = true;
    return f;
}

CpuFeatures with(const char* variable, const char* value) {
    CpuFeatures f = everything();
    setenv(variable, value, 1);
    minfer::apply_environment(f);
    unsetenv(variable);
    return f;
}

TEST(CpuFeatures, TheEnvironmentSwitchesOff) {
    for (const char* name : {"AMX", "VNNI", "AVX512", "AVX2", "NEON"})
        unsetenv((std::string("MINFER_NO_") + name).c_str());

    const CpuFeatures no_amx = with("MINFER_NO_AMX", "1");
    EXPECT_FALSE(no_amx.amx_tile || no_amx.amx_int8 || no_amx.amx_bf16);
    EXPECT_TRUE(no_amx.avx512vnni && no_amx.avx2);

    const CpuFeatures no_vnni = with("MINFER_NO_VNNI", "1");
    EXPECT_FALSE(no_vnni.avx512vnni || no_vnni.avx_vnni || no_vnni.amx_int8);
    EXPECT_TRUE(no_vnni.avx512f && no_vnni.avx2);

    const CpuFeatures no_avx512 = with("MINFER_NO_AVX512", "yes");
    EXPECT_FALSE(no_avx512.avx512f || no_avx512.avx512bw || no_avx512.avx512vl || no_avx512.avx512dq ||
                 no_avx512.avx512vnni || no_avx512.avx512_bf16 || no_avx512.amx_int8);
    EXPECT_TRUE(no_avx512.avx2 && no_avx512.fma && no_avx512.avx_vnni);

    const CpuFeatures no_avx2 = with("MINFER_NO_AVX2", "1");
    EXPECT_FALSE(no_avx2.avx2 || no_avx2.fma || no_avx2.f16c || no_avx2.avx_vnni || no_avx2.avx512f ||
                 no_avx2.amx_int8);
    EXPECT_TRUE(no_avx2.neon);

    const CpuFeatures no_neon = with("MINFER_NO_NEON", "1");
    EXPECT_FALSE(no_neon.neon || no_neon.neon_dotprod || no_neon.neon_i8mm);
    EXPECT_TRUE(no_neon.avx2);

    EXPECT_TRUE(with("MINFER_NO_AVX2", "0").avx2);
    EXPECT_TRUE(with("MINFER_NO_AVX2", "").avx2);
}

}  // namespace
