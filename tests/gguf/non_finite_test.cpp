// Each type with one bad value or scale at each place, and with none.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "gguf/block_check.h"
#include "quant/blocks.h"

namespace minfer::gguf {
namespace {

template <typename Block>
std::span<const std::byte> bytes_of(const std::vector<Block>& blocks) {
    return std::as_bytes(std::span(blocks));
}

TEST(Finite, FloatsAreFoundWhereverTheyLie) {
    for (size_t n : {1, 255, 256, 257, 1000})
        for (size_t at : {size_t(0), n / 2, n - 1}) {
            std::vector<float> f32(n, -3.0e38f);
            EXPECT_FALSE(find_non_finite(TensorType::F32, bytes_of(f32)));
            f32[at] = -std::numeric_limits<float>::infinity();
            auto found = find_non_finite(TensorType::F32, bytes_of(f32));
            ASSERT_TRUE(found);
            EXPECT_EQ(found->index, at);
            EXPECT_EQ(found->what, "infinity");

            std::vector<uint16_t> f16(n, 0xfbff), bf16(n, 0xff7f);
            EXPECT_FALSE(find_non_finite(TensorType::F16, bytes_of(f16)));
            EXPECT_FALSE(find_non_finite(TensorType::BF16, bytes_of(bf16)));
            f16[at] = 0xfc01;
            bf16[at] = 0x7fc0;
            found = find_non_finite(TensorType::F16, bytes_of(f16));
            ASSERT_TRUE(found);
            EXPECT_EQ(found->index, at);
            EXPECT_EQ(found->what, "NaN");
            found = find_non_finite(TensorType::BF16, bytes_of(bf16));
            ASSERT_TRUE(found);
            EXPECT_EQ(found->index, at);
            EXPECT_EQ(found->what, "NaN");
        }
}

// Sets one scale of the second of three blocks, whose other bytes are all ones: no scale is read from the wrong place.
template <typename Block, typename Member>
void check_scale(TensorType type, Member Block::* scale, std::initializer_list<Member Block::*> others = {}) {
    SCOPED_TRACE(std::string(type_name(type)));
    std::vector<Block> blocks(3);
    std::memset(blocks.data(), 0xff, blocks.size() * sizeof(Block));
    for (Block& block : blocks) {
        block.*scale = 0x3c00;
        for (Member Block::* other : others) block.*other = 0x0001;
    }
    EXPECT_FALSE(find_non_finite(type, bytes_of(blocks)));
    blocks[1].*scale = 0x7c00;
    auto found = find_non_finite(type, bytes_of(blocks));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->index, block_size(type));
    EXPECT_EQ(found->what, "an infinite scale");
    blocks[1].*scale = 0xfe00;
    found = find_non_finite(type, bytes_of(blocks));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->what, "a NaN scale");
}

TEST(Finite, ScalesOfEveryBlockType) {
    check_scale(TensorType::Q4_0, &quant::BlockQ4_0::d);
    check_scale(TensorType::Q4_1, &quant::BlockQ4_1::d, {&quant::BlockQ4_1::m});
    check_scale(TensorType::Q4_1, &quant::BlockQ4_1::m, {&quant::BlockQ4_1::d});
    check_scale(TensorType::Q5_0, &quant::BlockQ5_0::d);
    check_scale(TensorType::Q5_1, &quant::BlockQ5_1::d, {&quant::BlockQ5_1::m});
    check_scale(TensorType::Q5_1, &quant::BlockQ5_1::m, {&quant::BlockQ5_1::d});
    check_scale(TensorType::Q8_0, &quant::BlockQ8_0::d);
    check_scale(TensorType::Q2_K, &quant::BlockQ2_K::d, {&quant::BlockQ2_K::dmin});
    check_scale(TensorType::Q2_K, &quant::BlockQ2_K::dmin, {&quant::BlockQ2_K::d});
    check_scale(TensorType::Q3_K, &quant::BlockQ3_K::d);
    check_scale(TensorType::Q4_K, &quant::BlockQ4_K::d, {&quant::BlockQ4_K::dmin});
    check_scale(TensorType::Q4_K, &quant::BlockQ4_K::dmin, {&quant::BlockQ4_K::d});
    check_scale(TensorType::Q5_K, &quant::BlockQ5_K::d, {&quant::BlockQ5_K::dmin});
    check_scale(TensorType::Q5_K, &quant::BlockQ5_K::dmin, {&quant::BlockQ5_K::d});
    check_scale(TensorType::Q6_K, &quant::BlockQ6_K::d);
    check_scale(TensorType::IQ4_NL, &quant::BlockIQ4_NL::d);
    check_scale(TensorType::IQ4_XS, &quant::BlockIQ4_XS::d);
}

}  // namespace
}  // namespace minfer::gguf
