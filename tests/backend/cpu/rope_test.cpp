#include "backend/cpu/rope.h"

#include <numbers>
#include <numeric>

#include "backend/cpu/add.h"
#include "base/error.h"
#include "each_kernels.h"

namespace minfer::cpu::test {
namespace {

TEST_P(EachKernels, RopeHasTheBitsOfTheReference) {
    for (const RopePairs pairs : {RopePairs::interleaved, RopePairs::halves})
        for (const size_t head_dim : {2, 6, 14, 16, 18, 30, 32, 34, 50, 64, 128})
            for (const size_t n_rot : {size_t(2), head_dim / 2 / 2 * 2, head_dim}) {
                if (n_rot == 0) continue;
                RopeTable table({.n_rot = n_rot});
                const std::vector<int32_t> positions = {0, 1, 1000};
                table.fill(positions);
                std::vector<float> x(3 * 2 * head_dim), bias(2 * head_dim), expected(x.size());
                fill(x, head_dim, 1);
                fill(bias, head_dim + 1, 1);
                ThreadPool pool(1);
                const Guarded<float> in{std::span<const float>(x)}, b{std::span<const float>(bias)}, out(x.size());
                rope(scalar_kernels(), pool, x, 2, head_dim, table, pairs, expected);
                rope(kernels(), pool, in.span(), 2, head_dim, table, pairs, out.span());
                EXPECT_EQ(bits(out.span()), bits(expected)) << head_dim << " " << n_rot;
                rope(kernels(), pool, in.span(), 2, head_dim, table, pairs, in.span());  // in place
                EXPECT_EQ(bits(in.span()), bits(expected)) << head_dim << " " << n_rot;

                // With a bias: the fused operator is the chain.
                add_bias(scalar_kernels(), pool, x, bias, expected);
                rope(scalar_kernels(), pool, expected, 2, head_dim, table, pairs, expected);
                bias_rope(kernels(), pool, x, b.span(), 2, head_dim, table, pairs, out.span());
                EXPECT_EQ(bits(out.span()), bits(expected)) << head_dim << " " << n_rot;
            }
}

TEST_P(EachKernels, RopeDoesNotDependOnThreadsOrBatch) {
    const size_t n_token = 64, n_head = 14, head_dim = 64, size = n_head * head_dim;
    std::vector<int32_t> positions(n_token);
    std::iota(positions.begin(), positions.end(), 17);
    RopeTable table({.n_rot = head_dim, .freq_base = 1e6});
    table.fill(positions);
    std::vector<float> x(n_token * size), one(x.size()), many(x.size());
    fill(x, 1, 1);
    ThreadPool pool(1);
    rope(kernels(), pool, x, n_head, head_dim, table, RopePairs::halves, one);
    for (const int n : {2, 3, 7}) {
        ThreadPool threads(n);
        rope(kernels(), threads, x, n_head, head_dim, table, RopePairs::halves, many);
        EXPECT_EQ(bits(many), bits(one));
    }
    const std::vector<uint32_t> expected = bits(one);
    RopeTable single({.n_rot = head_dim, .freq_base = 1e6});
    for (size_t t = 0; t < n_token; t += 9) {
        single.fill(std::span(positions).subspan(t, 1));
        many.resize(size);
        rope(kernels(), pool, std::span(x).subspan(t * size, size), n_head, head_dim, single, RopePairs::halves, many);
        EXPECT_TRUE(std::ranges::equal(bits(many), std::span(expected).subspan(t * size, size)));
    }
}

TEST(Rope, TurnsPairsByTheAngle) {
    RopeTable table({.n_rot = 4, .freq_base = 100});
    const std::vector<int32_t> positions = {3};
    table.fill(positions);
    const std::vector<float> x = {1, 2, 3, 4, 5};
    std::vector<float> out(5);
    ThreadPool pool(1);
    const double a = 3, b = 3 * 0.1;
    rope(scalar_kernels(), pool, x, 1, 5, table, RopePairs::interleaved, out);
    EXPECT_NEAR(out[0], std::cos(a) - 2 * std::sin(a), 1e-6);
    EXPECT_NEAR(out[1], std::sin(a) + 2 * std::cos(a), 1e-6);
    EXPECT_NEAR(out[2], 3 * std::cos(b) - 4 * std::sin(b), 1e-6);
    EXPECT_EQ(out[4], 5);
    rope(scalar_kernels(), pool, x, 1, 5, table, RopePairs::halves, out);
    EXPECT_NEAR(out[0], std::cos(a) - 3 * std::sin(a), 1e-6);
    EXPECT_NEAR(out[2], std::sin(a) + 3 * std::cos(a), 1e-6);
    EXPECT_NEAR(out[1], 2 * std::cos(b) - 4 * std::sin(b), 1e-6);
    EXPECT_EQ(out[4], 5);
}

// Every cosine and sine is the exact one rounded once, but where the exact one lies within 2^-24 ulp of a tie.
TEST(Rope, TableIsRoundedOnce) {
    RopeTable table({.n_rot = 64, .freq_base = 1e6});
    const std::vector<int32_t> positions = {0, 1, 77, 4095, 131071};
    table.fill(positions);
    for (size_t t = 0; t < positions.size(); ++t)
        for (size_t j = 0; j < 32; ++j) {
            const double frequency = std::pow(1e6, -2.0 * double(j) / 64);
            EXPECT_NEAR(table.frequencies()[j], frequency, 1e-14 * frequency);
            const double angle = positions[t] * table.frequencies()[j];
            EXPECT_EQ(table.cos()[t * 32 + j], float(std::cos(angle))) << positions[t] << " " << j;
            EXPECT_EQ(table.sin()[t * 32 + j], float(std::sin(angle))) << positions[t] << " " << j;
        }
}

TEST(Rope, ScalesFrequencies) {
    const std::vector<float> factors = {1, 2, 8, 0.5f};
    const RopeTable linear({.n_rot = 8, .freq_base = 16, .freq_scale = 0.25}),
        llama3({.n_rot = 8, .freq_base = 16, .freq_factors = factors});
    for (size_t j = 0; j < 4; ++j) {
        const double base = std::pow(16.0, -2.0 * double(j) / 8);
        EXPECT_NEAR(linear.frequencies()[j], base / 4, 1e-15);
        EXPECT_NEAR(llama3.frequencies()[j], base / double(factors[j]), 1e-15);
    }
}

// YaRN against the formulas of the paper's reference implementation, written out here.
TEST(Rope, Yarn) {
    const double base = 1e6, factor = 4, n_ctx = 32768;
    const size_t n_rot = 128;
    RopeTable table(
        {.n_rot = n_rot, .freq_base = base, .freq_scale = 1 / factor, .ext_factor = 1, .n_ctx_orig = 32768});
    const auto dim = [&](double rotations) {
        return double(n_rot) * std::log(n_ctx / (rotations * 2 * std::numbers::pi)) / (2 * std::log(base));
    };
    const double low = std::floor(dim(32)), high = std::ceil(dim(1));
    EXPECT_GT(low, 0);
    EXPECT_LT(high, 64);
    for (size_t j = 0; j < n_rot / 2; ++j) {
        const double original = std::pow(base, -2.0 * double(j) / double(n_rot));
        const double keep = 1 - std::clamp((double(j) - low) / (high - low), 0.0, 1.0);
        EXPECT_NEAR(table.frequencies()[j], original / factor * (1 - keep) + original * keep, 1e-14 * original) << j;
    }
    const std::vector<int32_t> positions = {0};
    table.fill(positions);
    EXPECT_EQ(table.cos()[0], float(1 + 0.1 * std::log(factor)));
    EXPECT_EQ(table.sin()[0], 0);
}

TEST(Rope, RefusesWhatCannotBe) {
    const std::vector<float> three = {1, 1, 1}, negative = {1, -1};
    EXPECT_THROW(RopeTable({.n_rot = 3}), ShapeError);
    EXPECT_THROW(RopeTable({.n_rot = 0}), ShapeError);
    EXPECT_THROW(RopeTable({.n_rot = 4, .freq_base = 0}), ShapeError);
    EXPECT_THROW(RopeTable({.n_rot = 4, .freq_scale = -1}), ShapeError);
    EXPECT_THROW(RopeTable({.n_rot = 4, .freq_factors = three}), ShapeError);
    EXPECT_THROW(RopeTable({.n_rot = 4, .freq_factors = negative}), ShapeError);
    EXPECT_THROW(RopeTable({.n_rot = 4, .ext_factor = 1}), ShapeError);  // no n_ctx_orig
    RopeTable table({.n_rot = 4});
    const std::vector<int32_t> below = {-1}, one = {1};
    EXPECT_THROW(table.fill(below), ShapeError);
    table.fill(one);
    std::vector<float> x(8), out(8);
    ThreadPool pool(1);
    const Kernels& k = scalar_kernels();
    EXPECT_THROW(rope(k, pool, x, 1, 4, table, RopePairs::halves, out), ShapeError);  // two tokens' worth
    EXPECT_THROW(rope(k, pool, x, 4, 2, table, RopePairs::halves, out), ShapeError);  // n_rot above head_dim
    EXPECT_THROW(bias_rope(k, pool, x, {}, 2, 4, table, RopePairs::halves, out), ShapeError);
}

MINFER_EACH_KERNELS();

}  // namespace
}  // namespace minfer::cpu::test
