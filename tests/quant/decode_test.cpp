#include "quant/decode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/half.h"
#include "peer_library.h"
#include "quant/blocks.h"
#include "support/support.h"

namespace {

using minfer::gguf::TensorType;
using minfer::quant::decode_row;
using minfer::test::PeerLibrary;

struct Layout {
    TensorType type;
    const char* name;
    size_t values, bytes;
};

constexpr Layout kLayouts[] = {
    {TensorType::F16, "F16", 1, 2},         {TensorType::BF16, "BF16", 1, 2},
    {TensorType::Q4_0, "Q4_0", 32, 18},     {TensorType::Q4_1, "Q4_1", 32, 20},
    {TensorType::Q5_0, "Q5_0", 32, 22},     {TensorType::Q5_1, "Q5_1", 32, 24},
    {TensorType::Q8_0, "Q8_0", 32, 34},     {TensorType::Q2_K, "Q2_K", 256, 84},
    {TensorType::Q3_K, "Q3_K", 256, 110},   {TensorType::Q4_K, "Q4_K", 256, 144},
    {TensorType::Q5_K, "Q5_K", 256, 176},   {TensorType::Q6_K, "Q6_K", 256, 210},
    {TensorType::IQ4_NL, "IQ4_NL", 32, 18}, {TensorType::IQ4_XS, "IQ4_XS", 256, 136},
};

class Decode : public testing::TestWithParam<Layout> {};

// Blocks of random bits are every scale, subnormal, infinite and NaN ones too; a NaN's payload is not compared, since
// the hardware chooses it.
TEST_P(Decode, HasTheBitsOfThePeer) {
    MINFER_SKIP_WITHOUT(PeerLibrary::path());
    const PeerLibrary peer;
    const Layout layout = GetParam();
    const size_t n_blocks = 400'000 / layout.values;
    std::vector<std::byte> row(n_blocks * layout.bytes);
    std::mt19937 random(7);
    for (std::byte& b : row) b = std::byte(random());
    std::vector<float> expected(n_blocks * layout.values), found(expected.size());
    peer.decode(layout.type, row.data(), expected);
    decode_row(layout.type, row, found);
    size_t finite = 0;
    for (size_t i = 0; i < found.size(); ++i) {
        if (expected[i] != expected[i]) {
            ASSERT_NE(found[i], found[i]) << i;
            continue;
        }
        ++finite;
        ASSERT_EQ(std::bit_cast<uint32_t>(found[i]), std::bit_cast<uint32_t>(expected[i])) << i;
    }
    EXPECT_GT(finite, found.size() / 2);
}

TEST_P(Decode, RefusesSizesThatDoNotAgree) {
    const Layout layout = GetParam();
    std::vector<std::byte> row(layout.bytes * 2);
    std::vector<float> out(layout.values * 2 + 1);
    EXPECT_THROW(decode_row(layout.type, row, out), minfer::ShapeError);
    out.pop_back();
    EXPECT_NO_THROW(decode_row(layout.type, row, out));
    row.pop_back();
    EXPECT_THROW(decode_row(layout.type, row, out), minfer::ShapeError);
}

INSTANTIATE_TEST_SUITE_P(Types, Decode, testing::ValuesIn(kLayouts),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(Decode, F32IsACopyAtAnyAlignment) {
    const float values[] = {1.5f, -0.0f, 0x1p-149f, 3e38f};
    std::byte bytes[sizeof values + 1];
    std::memcpy(bytes + 1, values, sizeof values);
    float out[4];
    decode_row(TensorType::F32, std::span(bytes).subspan(1), out);
    EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(out)), std::as_bytes(std::span(values))));
}

TEST(Decode, RefusesATypeWithoutADecoder) {
    std::byte bytes[66];
    float out[256];
    EXPECT_FALSE(minfer::quant::can_decode(TensorType::IQ2_XXS));
    EXPECT_THROW(decode_row(TensorType::IQ2_XXS, bytes, out), minfer::UnsupportedError);
}

// Why one decoder serves all three arithmetics: of the types that add, no product loses a bit, so fusing it into the
// sum changes nothing. Every significand of d, every sub-block scale, every q.
TEST(Decode, AProductThatIsAddedIsExact) {
    for (int significand = 0; significand < 2048; ++significand) {
        const float d =
            minfer::f16_to_f32(uint16_t(0x3c00 | (significand & 1023))) * (significand < 1024 ? 1.0f : 0x1p-24f);
        for (int scale = 1; scale < 64; ++scale)
            for (int q = 1; q < 32; ++q)
                ASSERT_EQ(double(d * float(scale) * float(q)), double(d) * scale * q) << d << " " << scale << " " << q;
    }
}

}  // namespace
