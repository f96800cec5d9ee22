// Cells: what is written in them, and that every set of kernels writes and reads the same.
#include "backend/cpu/kv_cells.h"

#include <bit>
#include <cmath>
#include <limits>

#include "backend/cpu/rotation.h"
#include "base/error.h"
#include "base/half.h"
#include "each_kernels.h"
#include "quant/decode.h"

namespace minfer::cpu::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> values(size_t n, uint64_t seed, float magnitude) {
    std::vector<float> x(n);
    fill(x, seed, magnitude);
    return x;
}

std::vector<std::byte> encode(const Kernels& kernels, kv::CellType type, std::span<const float> x) {
    const Guarded<float> in(x);
    const Guarded<std::byte> out(kv::row_bytes(type, x.size()));
    ThreadPool pool(1);
    const int32_t cell = 0;
    store_kv(kernels, pool, type, in.span(), std::span(&cell, 1), out.span(), 1);
    return {out.begin(), out.end()};
}

std::vector<float> decode(const Kernels& kernels, kv::CellType type, std::span<const std::byte> row, size_t n) {
    const Guarded<std::byte> in(row);
    const Guarded<float> out(n);
    (type == kv::CellType::F16 ? kernels.decode_f16_row : kernels.decode_q8_0_row)(in.data(), out.data(), n);
    return {out.begin(), out.end()};
}

const std::vector<float> kExtremes = {0.0f,     -0.0f,    1e-45f,   -1e-40f,   6e-8f,     5.9604645e-8f, 1e-7f,
                                      65504.0f, 65519.9f, 65520.0f, -70000.0f, kInfinity, -kInfinity,    kNan,
                                      1e30f,    3e38f,    1.0f / 3, 2049.0f,   2051.0f,   1e-20f};

TEST_P(EachKernels, HalvesAreThoseOfTheDefinition) {
    for (const size_t n : {1, 2, 15, 16, 17, 31, 32, 33, 64, 100, 256}) {
        std::vector<float> x = values(n, n, 10);
        for (size_t i = 0; i < n && i < kExtremes.size(); ++i) x[n - 1 - i] = kExtremes[i];
        const std::vector<std::byte> row = encode(kernels(), kv::CellType::F16, x);
        const std::vector<float> back = decode(kernels(), kv::CellType::F16, row, n);
        for (size_t i = 0; i < n; ++i) EXPECT_EQ(bits(back[i]), bits(f16_to_f32(f32_to_f16(x[i])))) << x[i];
    }
    std::vector<std::byte> all(2 * 65536);
    for (size_t i = 0; i < 65536; ++i) {
        all[2 * i] = std::byte(i & 255);
        all[2 * i + 1] = std::byte(i >> 8);
    }
    EXPECT_EQ(bits(decode(kernels(), kv::CellType::F16, all, 65536)),
              bits(decode(scalar_kernels(), kv::CellType::F16, all, 65536)));
}

TEST_P(EachKernels, BlocksAreThoseOfTheReference) {
    for (const size_t n : {32, 64, 96, 128, 256})
        for (const float magnitude : {1e-42f, 1e-30f, 1e-7f, 1e-3f, 1.0f, 1e6f, 1e9f, 1e38f}) {
            std::vector<float> x = values(n, n, magnitude);
            const std::vector<std::byte> row = encode(kernels(), kv::CellType::Q8_0, x);
            EXPECT_EQ(row, encode(scalar_kernels(), kv::CellType::Q8_0, x)) << n << " " << magnitude;
            EXPECT_EQ(bits(decode(kernels(), kv::CellType::Q8_0, row, n)),
                      bits(decode(scalar_kernels(), kv::CellType::Q8_0, row, n)));
        }
    for (const float extreme : kExtremes) {
        std::vector<float> x = values(64, 3, 1);
        x[40] = extreme;
        EXPECT_EQ(
            bits(decode(kernels(), kv::CellType::Q8_0, encode(kernels(), kv::CellType::Q8_0, x), 64)),
            bits(decode(scalar_kernels(), kv::CellType::Q8_0, encode(scalar_kernels(), kv::CellType::Q8_0, x), 64)))
            << extreme;
    }
}

TEST(KvCells, BlocksAreNearTheValuesAndGgufs) {
    for (const float magnitude : {0.05f, 1.0f, 300.0f}) {  // below, d is a subnormal half, which has fewer bits
        std::vector<float> x = values(512, 9, magnitude);
        const std::vector<std::byte> row = encode(scalar_kernels(), kv::CellType::Q8_0, x);
        rotate(x.data(), x.data(), x.size(), kCellScale);
        const std::vector<float> back = decode(scalar_kernels(), kv::CellType::Q8_0, row, 512);
        std::vector<float> as_weights(512);
        quant::decode_row(gguf::TensorType::Q8_0, row, as_weights);
        EXPECT_EQ(bits(back), bits(as_weights)) << "the format is GGUF's Q8_0";
        for (size_t i = 0; i < 512; ++i) {
            float amax = 0;
            for (size_t j = i / 32 * 32; j < i / 32 * 32 + 32; ++j) amax = std::max(amax, std::abs(x[j]));
            // Half a step, and the scale's own rounding to 11 bits.
            EXPECT_LE(std::abs(back[i] - x[i]), amax / 254 * 1.001f + amax * 0x1p-11f) << i;
        }
    }
}

TEST(KvCells, RotationIsTheMatrixAndItsOwnInverse) {
    for (size_t row = 0; row < kRotation; ++row) {
        std::vector<float> x(2 * kRotation, 0.0f), y(x.size());
        x[kRotation + row] = 3;
        rotate(x.data(), y.data(), x.size(), kCellScale);
        for (size_t i = 0; i < kRotation; ++i) {
            EXPECT_EQ(y[i], 0.0f) << "blocks do not reach into each other";
            EXPECT_EQ(y[kRotation + i], std::popcount(row & i) % 2 == 0 ? 0.75f : -0.75f) << row << " " << i;
        }
        rotate(y.data(), y.data(), y.size(), kQueryScale);
        EXPECT_EQ(y, x);
    }
}

// Each sum is rounded, so the bits are those of one order of steps: docs/numerics.md.
TEST(KvCells, RotationAddsInTheOrderOfItsDefinition) {
    std::vector<float> x = values(64 * kRotation, 5, 3), expected = x;
    for (size_t block = 0; block < x.size(); block += kRotation) {
        float* a = expected.data() + block;
        for (const size_t apart : {16, 8, 4, 2, 1})
            for (size_t i = 0; i < kRotation; ++i) {
                if (i & apart) continue;
                const float u = a[i], v = a[i + apart];
                a[i] = u + v;
                a[i + apart] = u - v;
            }
        for (size_t i = 0; i < kRotation; ++i) a[i] *= kQueryScale;
    }
    rotate(x.data(), x.data(), x.size(), kQueryScale);
    EXPECT_EQ(bits(x), bits(expected));
}

// Without the rotation the other values of a block keep hardly a bit beside one that is far out of line.
TEST(KvCells, AValueOutOfLineCostsTheOthersLittle) {
    std::vector<float> x = values(512, 11, 1);
    for (size_t i = 7; i < x.size(); i += 32) x[i] = 100;
    std::vector<float> back =
        decode(scalar_kernels(), kv::CellType::Q8_0, encode(scalar_kernels(), kv::CellType::Q8_0, x), x.size());
    rotate(back.data(), back.data(), back.size(), kQueryScale);
    double error = 0;
    for (size_t i = 0; i < x.size(); ++i) error += double(back[i] - x[i]) * (back[i] - x[i]);
    // A step of 100 / 127 would make it 0.22.
    EXPECT_LT(std::sqrt(error / double(x.size())), 0.06);
}

TEST(KvCells, ValuesThatAreNotFiniteMakeTheirBlockNaN) {
    for (const float bad : {kInfinity, -kInfinity, kNan}) {
        std::vector<float> x = values(64, 3, 1);
        x[40] = bad;
        const std::vector<float> back =
            decode(scalar_kernels(), kv::CellType::Q8_0, encode(scalar_kernels(), kv::CellType::Q8_0, x), 64);
        for (size_t i = 0; i < 64; ++i) EXPECT_EQ(std::isnan(back[i]), i >= 32) << bad << " " << i;
    }
}

TEST(KvCells, RowsGoWhereTheyBelong) {
    for (const kv::CellType type : {kv::CellType::F32, kv::CellType::F16, kv::CellType::Q8_0}) {
        const std::vector<float> x = values(3 * 64, 5, 2);
        const std::vector<int32_t> cells = {4, 0, 2};
        const size_t row = kv::row_bytes(type, 64);
        for (const int n_threads : {1, 3}) {
            std::vector<std::byte> region(5 * row, std::byte(0xee));
            ThreadPool pool(n_threads);
            store_kv(scalar_kernels(), pool, type, x, cells, region, 5);
            for (size_t t = 0; t < 3; ++t)
                EXPECT_TRUE(std::ranges::equal(std::span(region).subspan(size_t(cells[t]) * row, row),
                                               encode(scalar_kernels(), type, std::span(x).subspan(t * 64, 64))));
            for (const size_t untouched : {1, 3})
                for (size_t i = 0; i < row; ++i) EXPECT_EQ(region[untouched * row + i], std::byte(0xee));
        }
    }
}

TEST(KvCells, RefusesWhatDoesNotFit) {
    ThreadPool pool(1);
    std::vector<std::byte> region(5 * 128);
    const std::vector<float> x(64);
    const auto store = [&](kv::CellType type, size_t n, std::vector<int32_t> cells, size_t n_cells) {
        store_kv(scalar_kernels(), pool, type, std::span(x).first(n), cells, region, n_cells);
    };
    EXPECT_NO_THROW(store(kv::CellType::F32, 64, {0, 4}, 5));
    EXPECT_NO_THROW(store(kv::CellType::F16, 64, {4}, 5));
    EXPECT_THROW(store(kv::CellType::F32, 64, {0, 5}, 5), ShapeError);
    EXPECT_THROW(store(kv::CellType::F32, 64, {0, -1}, 5), ShapeError);
    EXPECT_THROW(store(kv::CellType::F32, 64, {0, 4}, 4), ShapeError);
    EXPECT_THROW(store(kv::CellType::F32, 63, {0, 4}, 5), ShapeError);
    EXPECT_THROW(store(kv::CellType::F32, 64, {}, 5), ShapeError);
    EXPECT_THROW(store(kv::CellType::Q8_0, 48, {4}, 5), ShapeError);
    EXPECT_TRUE(supports_cells(kv::CellType::F32, 50));
    EXPECT_TRUE(supports_cells(kv::CellType::F16, 50));
    EXPECT_TRUE(supports_cells(kv::CellType::Q8_0, 96));
    EXPECT_FALSE(supports_cells(kv::CellType::Q8_0, 80));
}

MINFER_EACH_KERNELS();

}  // namespace
}  // namespace minfer::cpu::test
