// The operators on rows: RMS norm, sums, SwiGLU, and activations to integers.
#include <bit>
#include <cmath>
#include <limits>

#include "backend/cpu/add.h"
#include "backend/cpu/quantize_activations.h"
#include "backend/cpu/rms_norm.h"
#include "backend/cpu/swiglu.h"
#include "base/error.h"
#include "each_kernels.h"

namespace minfer::cpu::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Around the sixteen lanes, around a page of floats, and the models' own.
constexpr size_t kLengths[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 50, 64, 250, 576, 896, 1023, 1025, 4099};
// Squares from subnormal to infinite.
constexpr float kMagnitudes[] = {1e-41f, 1e-38f, 1e-20f, 1.0f, 100.0f, 1e17f, 1e20f};

// n values that end at a guard page; some of them extreme where `extreme` is set.
std::vector<float> values(size_t n, uint64_t seed, float magnitude, bool extreme = false) {
    std::vector<float> x(n);
    fill(x, seed, magnitude);
    constexpr float kExtremes[] = {kInfinity, -kInfinity, kNaN,    0x1p-149f, -0x1p-149f, 0x1.fffffep+127f, -0.0f,
                                   88.7f,     -88.0f,     -103.9f, -104.1f,   89.1f,      -87.4f,           0.0f};
    if (extreme)
        for (size_t i = 0; i < n; i += 5) x[i] = kExtremes[i / 5 % std::size(kExtremes)];
    return x;
}

std::vector<uint32_t> rms_norm_bits(const Kernels& kernels, std::span<const float> x, std::span<const float> weight,
                                    int n_threads = 1) {
    const Guarded<float> in{x}, w{weight}, out(x.size());
    ThreadPool pool(n_threads);
    rms_norm(kernels, pool, in.span(), w.span(), 1e-6f, out.span());
    std::vector<uint32_t> result = bits(out.span());
    rms_norm(kernels, pool, in.span(), w.span(), 1e-6f, in.span());  // in place
    EXPECT_EQ(bits(in.span()), result);
    return result;
}

TEST_P(EachKernels, RmsNormHasTheBitsOfTheReference) {
    for (const size_t dim : kLengths)
        for (const float magnitude : kMagnitudes) {
            const std::vector<float> x = values(2 * dim, dim, magnitude), weight = values(dim, dim + 1, 2);
            EXPECT_EQ(rms_norm_bits(kernels(), x, weight), rms_norm_bits(scalar_kernels(), x, weight))
                << dim << " " << magnitude;
        }
    const std::vector<float> x = values(3 * 40, 1, 1, true), weight = values(40, 2, 1);
    EXPECT_EQ(rms_norm_bits(kernels(), x, weight), rms_norm_bits(scalar_kernels(), x, weight));
}

TEST_P(EachKernels, RmsNormDoesNotDependOnThreads) {
    const std::vector<float> x = values(100 * 896, 1, 1), weight = values(896, 2, 1);
    for (const int n : {2, 3, 7})
        EXPECT_EQ(rms_norm_bits(kernels(), x, weight, n), rms_norm_bits(kernels(), x, weight));
}

TEST(RmsNorm, IsNearTheExactNorm) {
    for (const size_t dim : {64, 896, 4099}) {
        const std::vector<float> x = values(dim, 5, 3), weight = values(dim, 6, 1);
        std::vector<float> out(dim);
        ThreadPool pool(1);
        rms_norm(scalar_kernels(), pool, x, weight, 1e-5f, out);
        double squares = 0;
        for (const float v : x) squares += double(v) * double(v);
        const double scale = 1 / std::sqrt(squares / double(dim) + double(1e-5f));
        for (size_t i = 0; i < dim; ++i)
            EXPECT_NEAR(out[i], double(x[i]) * scale * double(weight[i]), 1e-6 * std::fabs(double(x[i]) * scale));
    }
}

TEST(RmsNorm, RefusesSizesThatDoNotFit) {
    std::vector<float> x(6), out(6), weight(4);
    ThreadPool pool(1);
    EXPECT_THROW(rms_norm(scalar_kernels(), pool, x, weight, 1e-6f, out), ShapeError);
    EXPECT_THROW(rms_norm(scalar_kernels(), pool, x, {}, 1e-6f, out), ShapeError);
    EXPECT_THROW(rms_norm(scalar_kernels(), pool, x, std::span(weight).first(3), 1e-6f, std::span(out).first(3)),
                 ShapeError);
}

TEST_P(EachKernels, ElementwiseOperatorsHaveTheBitsOfTheReference) {
    for (const size_t n : kLengths)
        for (const float magnitude : {1e-41f, 1.0f, 20.0f, 120.0f}) {
            const std::vector<float> x = values(n, n, magnitude, true), y = values(n, n + 9, magnitude);
            const Guarded<float> a{std::span<const float>(x)}, b{std::span<const float>(y)}, out(n);
            ThreadPool pool(1);
            const Kernels& s = scalar_kernels();
            std::vector<float> expected(n);
            const auto same = [&](const char* name) {
                EXPECT_EQ(bits(out.span()), bits(expected)) << name << " " << n << " " << magnitude;
            };
            add(s, pool, x, y, expected), add(kernels(), pool, a.span(), b.span(), out.span()), same("add");
            mul(s, pool, x, y, expected), mul(kernels(), pool, a.span(), b.span(), out.span()), same("mul");
            silu(s, pool, x, expected), silu(kernels(), pool, a.span(), out.span()), same("silu");
            swiglu(s, pool, x, y, expected), swiglu(kernels(), pool, a.span(), b.span(), out.span()), same("swiglu");
            // Fused is unfused.
            silu(kernels(), pool, a.span(), out.span());
            mul(kernels(), pool, out.span(), b.span(), out.span());
            same("silu, then mul");
            // In place.
            swiglu(kernels(), pool, a.span(), b.span(), a.span());
            EXPECT_EQ(bits(a.span()), bits(expected)) << n;
        }
}

// A float in 2,039 of all there are. (Results of exp that are subnormal show in attention only: here they meet a 1.)
TEST_P(EachKernels, SiluOfFloatsOfEverySize) {
    std::vector<float> x;
    for (uint64_t u = 0; u < uint64_t(1) << 32; u += 2039) x.push_back(std::bit_cast<float>(uint32_t(u)));
    ThreadPool pool(2);
    std::vector<float> expected(x.size()), out(x.size());
    silu(scalar_kernels(), pool, x, expected);
    silu(kernels(), pool, x, out);
    for (size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(expected[i]) && std::isnan(out[i])) continue;
        ASSERT_EQ(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(expected[i])) << x[i];
    }
}

TEST_P(EachKernels, ElementwiseOperatorsDoNotDependOnThreads) {
    const std::vector<float> x = values(70000, 1, 5), y = values(70000, 2, 5);
    std::vector<float> one(70000), many(70000);
    ThreadPool pool(1);
    swiglu(kernels(), pool, x, y, one);
    for (const int n : {2, 3, 7}) {
        ThreadPool threads(n);
        swiglu(kernels(), threads, x, y, many);
        EXPECT_EQ(bits(many), bits(one));
    }
}

TEST_P(EachKernels, AddBiasAddsToEachRow) {
    const std::vector<float> x = values(5 * 50, 1, 1), bias = values(50, 2, 1);
    std::vector<float> out(x.size());
    ThreadPool pool(1);
    add_bias(kernels(), pool, x, bias, out);
    for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(bits(out[i]), bits(x[i] + bias[i % 50]));
    EXPECT_THROW(add_bias(kernels(), pool, x, std::span(bias).first(49), out), ShapeError);
    EXPECT_THROW(add_bias(kernels(), pool, x, {}, out), ShapeError);
    EXPECT_THROW(add(kernels(), pool, x, bias, out), ShapeError);
    EXPECT_THROW(swiglu(kernels(), pool, x, x, std::span(out).first(1)), ShapeError);
}

TEST(Swiglu, IsNearTheExactOne) {
    const std::vector<float> gate = values(4000, 3, 30), up = values(4000, 4, 2);
    std::vector<float> out(4000);
    ThreadPool pool(1);
    swiglu(scalar_kernels(), pool, gate, up, out);
    for (size_t i = 0; i < out.size(); ++i) {
        const double exact = double(gate[i]) / (1 + std::exp(-double(gate[i]))) * double(up[i]);
        EXPECT_NEAR(out[i], exact, 4e-7 * std::fabs(exact));
    }
}

struct Integers {
    std::vector<int8_t> q;
    std::vector<uint32_t> d;
    std::vector<int16_t> sums16, sums32;
    bool operator==(const Integers&) const = default;
};

Integers quantized(void (*quantize_row)(const float*, size_t, size_t, const QuantizedRow&), std::span<const float> x,
                   size_t block) {
    const Guarded<float> in{x}, d(x.size() / block);
    const Guarded<int8_t> q(x.size());
    const Guarded<int16_t> sums16(x.size() / 16), sums32(x.size() / 32);
    quantize_row(in.data(), x.size(), block, {q.data(), d.data(), sums16.data(), sums32.data()});
    return {{q.begin(), q.end()}, bits(d.span()), {sums16.begin(), sums16.end()}, {sums32.begin(), sums32.end()}};
}

TEST_P(EachKernels, QuantizedActivationsAreThoseOfTheReference) {
    for (const size_t block : {size_t(32), size_t(256)})
        for (const float magnitude : {0x1p-149f, 0x1p-120f, 0x1p-100f, 0x1.8p-100f, 1e-20f, 1.0f, 3.0f, 1e17f, 3e38f})
            for (uint64_t seed = 0; seed < 20; ++seed) {
                std::vector<float> x(3 * block);
                fill(x, seed, magnitude);
                EXPECT_EQ(quantized(kernels().quantize_row, x, block), quantized(quantize_row_reference, x, block))
                    << block << " " << magnitude;
            }
    for (const float bad : {kInfinity, -kInfinity, kNaN, -kNaN})
        for (const size_t at : {0, 31, 100, 255}) {
            std::vector<float> x(512, 1.0f);
            x[at] = bad;
            EXPECT_EQ(quantized(kernels().quantize_row, x, 256), quantized(quantize_row_reference, x, 256));
            EXPECT_EQ(quantized(kernels().quantize_row, x, 32), quantized(quantize_row_reference, x, 32));
        }
}

TEST(QuantizeActivations, FollowsItsDefinition) {
    std::vector<float> x(32);
    x[0] = 127;
    x[1] = -127;
    x[2] = 0.5f;   // ties to even: 0
    x[3] = 1.5f;   // 2
    x[4] = -2.5f;  // -2
    const Integers i = quantized(quantize_row_reference, x, 32);
    EXPECT_EQ(i.d[0], bits(1.0f));
    EXPECT_EQ((std::vector<int8_t>(i.q.begin(), i.q.begin() + 5)), (std::vector<int8_t>{127, -127, 0, 2, -2}));
    EXPECT_EQ(i.sums16[0], 0);
    EXPECT_EQ(i.sums32[0], 0);
    x[5] = kNaN;
    EXPECT_EQ(quantized(quantize_row_reference, x, 32).d[0], bits(kNaN));
    EXPECT_EQ(quantized(quantize_row_reference, x, 32).q[0], 0);
    std::fill(x.begin(), x.end(), 0x1.fffffep-101f);
    EXPECT_EQ(quantized(quantize_row_reference, x, 32).d[0], bits(0.0f));
    std::fill(x.begin(), x.end(), 0x1p-100f);
    EXPECT_EQ(quantized(quantize_row_reference, x, 32).q[0], 127);
    EXPECT_EQ(quantized(quantize_row_reference, x, 32).sums32[0], 32 * 127);
}

MINFER_EACH_KERNELS();

}  // namespace
}  // namespace minfer::cpu::test
