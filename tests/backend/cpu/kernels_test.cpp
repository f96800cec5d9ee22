#include "backend/cpu/kernels.h"

#include <thread>

#include "backend/cpu/get_rows.h"
#include "base/error.h"
#include "quant/decode.h"
#include "random_weights.h"

namespace minfer::cpu::test {
namespace {

CpuFeatures everything() {
    CpuFeatures f;
    f.avx2 = f.fma = f.f16c = f.avx512f = f.avx512bw = f.avx512dq = f.avx512vl = f.avx512vnni = true;
    f.amx_tile = f.amx_int8 = true;
    f.neon = f.neon_dotprod = f.neon_i8mm = true;
    return f;
}

TEST(Kernels, TheBestThatRunsIsChosen) {
    EXPECT_EQ(choose_kernels({}).name, "scalar");
#if defined(__x86_64__)
    CpuFeatures f = everything();
    EXPECT_EQ(choose_kernels(f).name, "amx");
    f.amx_int8 = false;
    EXPECT_EQ(choose_kernels(f).name, "avx512vnni");
    f.avx512vnni = false;
    EXPECT_EQ(choose_kernels(f).name, "avx512");
    f.avx512bw = false;
    EXPECT_EQ(choose_kernels(f).name, "avx2");
    f.avx_vnni = true;
    EXPECT_EQ(choose_kernels(f).name, "avxvnni");
    f.avx_vnni = false;
    f.f16c = false;
    EXPECT_EQ(choose_kernels(f).name, "scalar");
#elif defined(__aarch64__)
    CpuFeatures f = everything();
    EXPECT_EQ(choose_kernels(f).name, "neoni8mm");
    f.neon_i8mm = false;
    EXPECT_EQ(choose_kernels(f).name, "neondotprod");
    f.neon_dotprod = false;
    EXPECT_EQ(choose_kernels(f).name, "neon");
    f.neon_i8mm = true;  // not without the other
    EXPECT_EQ(choose_kernels(f).name, "neon");
    f.neon = false;
    EXPECT_EQ(choose_kernels(f).name, "scalar");
#endif
}

TEST(Kernels, TheForcedOneIsChosenOrRefusedByName) {
    EXPECT_EQ(choose_kernels(everything(), "scalar").name, "scalar");
    EXPECT_THROW(choose_kernels(everything(), "sse9"), UsageError);
#if defined(__x86_64__)
    EXPECT_EQ(choose_kernels(everything(), "avx2").name, "avx2");
    try {
        CpuFeatures f = everything();
        f.avx512vl = f.avx512dq = false;
        choose_kernels(f, "avx512");
        FAIL();
    } catch (const UnsupportedError& e) {
        EXPECT_NE(std::string(e.what()).find("avx512dq, avx512vl"), std::string::npos) << e.what();
    }
#endif
}

TEST(Kernels, TheEnvironmentStepsDown) {
    CpuFeatures f = everything();
#if defined(__x86_64__)
    setenv("MINFER_NO_AMX", "1", 1);
    apply_environment(f);
    EXPECT_EQ(choose_kernels(f).name, "avx512vnni");
    unsetenv("MINFER_NO_AMX");
    f = everything();
    setenv("MINFER_NO_VNNI", "1", 1);
    apply_environment(f);
    EXPECT_EQ(choose_kernels(f).name, "avx512");
    unsetenv("MINFER_NO_VNNI");
    f = everything();
    setenv("MINFER_NO_AVX512", "1", 1);
    apply_environment(f);
    EXPECT_EQ(choose_kernels(f).name, "avx2");
    unsetenv("MINFER_NO_AVX512");
    f = everything();
    setenv("MINFER_NO_AVX2", "1", 1);
    apply_environment(f);
    EXPECT_EQ(choose_kernels(f).name, "scalar");
    unsetenv("MINFER_NO_AVX2");
#elif defined(__aarch64__)
    setenv("MINFER_NO_NEON", "1", 1);
    apply_environment(f);
    EXPECT_EQ(choose_kernels(f).name, "scalar");
    unsetenv("MINFER_NO_NEON");
#endif
}

TEST(Kernels, WeightTypesAreThoseOfTheDecoders) {
    for (const gguf::TensorType type : gguf::all_tensor_types()) {
        EXPECT_EQ(supports_weights(type), quant::can_decode(type)) << gguf::type_name(type);
        if (!supports_weights(type)) {
            EXPECT_THROW(weight_index(type), UnsupportedError);
        }
    }
    for (size_t i = 0; i < std::size(kWeightTypesInOrder); ++i) EXPECT_EQ(weight_index(kWeightTypesInOrder[i]), i);
}

TEST(GetRows, DecodesTheRowsAskedFor) {
    for (const gguf::TensorType type : kWeightTypesInOrder) {
        const RandomWeights w(type, 10, 512, 3);
        const std::vector<float> all = w.decoded();
        const std::vector<int32_t> ids = {9, 0, 4, 4};
        std::vector<float> out(ids.size() * 512);
        ThreadPool pool(2);
        get_rows(pool, w.weights(), ids, out);
        for (size_t i = 0; i < ids.size(); ++i)
            EXPECT_TRUE(std::ranges::equal(bits(std::span(out).subspan(i * 512, 512)),
                                           bits(std::span(all).subspan(size_t(ids[i]) * 512, 512))))
                << gguf::type_name(type);
    }
}

TEST(GetRows, RefusesRowsThatAreNotThere) {
    const RandomWeights w(gguf::TensorType::F32, 10, 8, 3);
    std::vector<float> out(8);
    ThreadPool pool(1);
    const std::vector<int32_t> past = {10}, below = {-1}, good = {9};
    EXPECT_THROW(get_rows(pool, w.weights(), past, out), ShapeError);
    EXPECT_THROW(get_rows(pool, w.weights(), below, out), ShapeError);
    EXPECT_THROW(get_rows(pool, w.weights(), good, std::span(out).first(7)), ShapeError);
}

}  // namespace
}  // namespace minfer::cpu::test
