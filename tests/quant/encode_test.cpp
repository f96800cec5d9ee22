#include "quant/encode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>

#include "base/error.h"
#include "base/half.h"
#include "encode_cases.h"
#include "peer_library.h"
#include "support/support.h"

namespace {

using minfer::gguf::TensorType;
using minfer::quant::Arithmetic;
using minfer::quant::EncodeOptions;
using minfer::quant::EncoderSet;
using minfer::test::EncodeCase;
using minfer::test::EncodedType;
using minfer::test::PeerLibrary;

std::vector<std::byte> encode(TensorType type, const EncodeCase& c, Arithmetic arithmetic, const EncoderSet* set) {
    const int64_t rows = int64_t(c.values.size()) / c.row_length;
    std::vector<std::byte> out(size_t(rows) * minfer::gguf::row_bytes(type, uint64_t(c.row_length)));
    minfer::quant::encode_rows(type, c.values, rows, c.row_length, out,
                               {.arithmetic = arithmetic, .importance = c.importance, .set = set});
    return out;
}

// Empty if equal; else how many blocks differ, by kind of row, and where the first is.
std::string differences(TensorType type, const EncodeCase& c, std::span<const std::byte> found,
                        std::span<const std::byte> expected) {
    if (found.size() != expected.size()) return "sizes differ";
    const size_t bytes = minfer::gguf::type_size(type);
    const size_t per_row = size_t(c.row_length) / minfer::gguf::block_size(type);
    std::map<std::string, int> kinds;
    std::string first;
    for (size_t block = 0; block * bytes < found.size(); ++block) {
        if (std::memcmp(found.data() + block * bytes, expected.data() + block * bytes, bytes) == 0) continue;
        ++kinds[minfer::test::row_kind(int64_t(block / per_row))];
        if (!first.empty()) continue;
        std::ostringstream text;
        text << "first in row " << block / per_row << ", block " << block % per_row << ":";
        for (size_t i = block * bytes; i < (block + 1) * bytes; ++i)
            if (found[i] != expected[i])
                text << " [" << i - block * bytes << "] " << int(found[i]) << " for " << int(expected[i]);
        first = text.str();
    }
    if (kinds.empty()) return "";
    std::ostringstream text;
    for (const auto& [kind, count] : kinds) text << count << " blocks of '" << kind << "', ";
    return text.str() + first;
}

// The sets that this machine can run, whatever the environment says.
std::vector<const EncoderSet*> runnable_sets() {
    const minfer::CpuFeatures cpu = minfer::detect_cpu_features();
    std::vector<const EncoderSet*> sets;
    for (const EncoderSet* set : minfer::quant::all_encoder_sets())
        if (set->runs_on(cpu)) sets.push_back(set);
    return sets;
}

class Encode : public testing::TestWithParam<EncodedType> {};

TEST_P(Encode, HasTheBytesOfThePeerOnEverySet) {
    MINFER_SKIP_WITHOUT(PeerLibrary::path());
    const PeerLibrary peer;
    const TensorType type = GetParam().type;
    const int64_t values = minfer::test::test_values(70'000);
    int64_t compared = 0;
    for (const EncodeCase& c : minfer::test::encode_cases(type, values, 1)) {
        const auto expected = peer.encode(type, c.values, c.row_length, c.importance);
        for (const EncoderSet* set : runnable_sets()) {
            const auto found = encode(type, c, Arithmetic::x86_64, set);
            EXPECT_EQ(differences(type, c, found, expected), "") << c.name << ", " << set->name;
        }
        compared += int64_t(c.values.size());
    }
    RecordProperty("values", std::to_string(compared));
}

// The Arm builds: clang's from the npm package, and GCC's where MINFER_ARM_GCC_LIBRARY names a libggml-base made with
// GCC 12.2 -O3 (encode_recorded_test.cpp has the recorded bytes of one).
struct ArmBuild {
    Arithmetic arithmetic;
    std::filesystem::path library;
};
std::vector<ArmBuild> arm_builds() {
    std::vector<ArmBuild> builds = {{Arithmetic::aarch64_clang, minfer::test::arm_clang_library()}};
    if (const char* path = std::getenv("MINFER_ARM_GCC_LIBRARY")) builds.push_back({Arithmetic::aarch64_gcc, path});
    return builds;
}

TEST_P(Encode, HasTheBytesOfTheArmBuilds) {
    const TensorType type = GetParam().type;
    const std::vector<EncodeCase> cases = minfer::test::encode_cases(type, minfer::test::test_values(70'000), 2);
    std::vector<minfer::test::EncodeRequest> requests;
    for (const EncodeCase& c : cases) requests.push_back({type, c.row_length, c.values, c.importance});
    for (const ArmBuild& build : arm_builds()) {
        MINFER_SKIP_WITHOUT(build.library);
        MINFER_SKIP_WITHOUT(minfer::test::arm_programs());
        const auto expected = minfer::test::encode_by_arm_peer(build.library, requests);
        for (size_t i = 0; i < cases.size(); ++i)
            EXPECT_EQ(differences(type, cases[i], encode(type, cases[i], build.arithmetic, nullptr), expected[i]), "")
                << cases[i].name << ", " << arithmetic_name(build.arithmetic);
    }
}

// A group whose second value moves or stays by whether the first sums of the descent are fused. Beside a value so large
// that the group's own scale becomes 0, which keeps the levels that the search found. One block of 4 million values'.
TEST(EncodeQ3K, FirstSumsAreFusedAsInTheArmBuild) {
    MINFER_SKIP_WITHOUT(minfer::test::arm_clang_library());
    MINFER_SKIP_WITHOUT(minfer::test::arm_programs());
    constexpr float kGroup[16] = {-0x1.155a98p-8f,  -0x1.b6c502p-10f, -0x1.92023p-7f, 0x1.79f1a6p-7f,
                                  -0x1.e5404cp-15f, -0x1.61692ep-7f,  0x1.c686a4p-8f, 0x1.35c5ecp-7f,
                                  0x1.60762cp-9f,   -0x1.4601ep-10f,  0x1.bf1454p-8f, -0x1.3431fap-8f,
                                  0x1.8e534p-8f,    -0x1.789c8cp-8f,  -0x1.19f14p-8f, 0x1.c673d4p-15f};
    std::vector<float> values(256, 0.0f);
    std::ranges::copy(kGroup, values.begin());
    values[255] = 3.0f;
    const EncodeCase c = {.name = "a near tie", .row_length = 256, .values = values, .importance = {}};
    const minfer::test::EncodeRequest request = {TensorType::Q3_K, 256, values, {}};
    const auto expected = minfer::test::encode_by_arm_peer(minfer::test::arm_clang_library(), {&request, 1})[0];
    EXPECT_EQ(
        differences(TensorType::Q3_K, c, encode(TensorType::Q3_K, c, Arithmetic::aarch64_clang, nullptr), expected),
        "");
    EXPECT_NE(encode(TensorType::Q3_K, c, Arithmetic::x86_64, nullptr), expected) << "it would show nothing";
}

// The other half of "on any machine": an Arm machine's sets write, in every arithmetic, what this one's write.
TEST_P(Encode, IsTheSameOnAnArmMachine) {
    MINFER_SKIP_WITHOUT(minfer::test::arm_programs());
    const TensorType type = GetParam().type;
    const std::vector<EncodeCase> cases = minfer::test::encode_cases(type, 4'000, 3);
    std::vector<minfer::test::EncodeRequest> requests;
    for (const EncodeCase& c : cases) requests.push_back({type, c.row_length, c.values, c.importance});
    for (const Arithmetic arithmetic : {Arithmetic::x86_64, Arithmetic::aarch64_clang, Arithmetic::aarch64_gcc})
        for (const std::string set : {"neon", "scalar"}) {
            if (set == "scalar" && arithmetic != Arithmetic::aarch64_clang) continue;  // slow there, and one shows it
            const auto found = minfer::test::encode_on_arm(set, arithmetic, requests);
            for (size_t i = 0; i < cases.size(); ++i)
                EXPECT_EQ(differences(type, cases[i], found[i], encode(type, cases[i], arithmetic, nullptr)), "")
                    << cases[i].name << ", " << set << ", " << arithmetic_name(arithmetic);
        }
}

// And within one machine, in the arithmetics that HasTheBytesOfThePeerOnEverySet does not try.
TEST_P(Encode, IsTheSameOnEverySet) {
    const TensorType type = GetParam().type;
    for (const EncodeCase& c : minfer::test::encode_cases(type, 4'000, 4))
        for (const Arithmetic arithmetic : {Arithmetic::aarch64_clang, Arithmetic::aarch64_gcc}) {
            const auto expected = encode(type, c, arithmetic, &minfer::quant::choose_encoder_set({}, "scalar"));
            for (const EncoderSet* set : runnable_sets())
                EXPECT_EQ(differences(type, c, encode(type, c, arithmetic, set), expected), "")
                    << c.name << ", " << set->name << ", " << arithmetic_name(arithmetic);
        }
}

INSTANTIATE_TEST_SUITE_P(Types, Encode, testing::ValuesIn(minfer::test::kEncodedTypes),
                         [](const auto& param) { return std::string(param.param.name); });

// F32, F16 and BF16, which have no blocks.
TEST(EncodeFloats, HaveTheBitsOfThePeer) {
    MINFER_SKIP_WITHOUT(PeerLibrary::path());
    const PeerLibrary peer;
    for (EncodeCase c : minfer::test::encode_cases(TensorType::F16, 100'000, 5)) {
        const float nan = std::bit_cast<float>(0xffc12345u);
        const float special[] = {nan, -nan, INFINITY, -INFINITY, 65519.0f, 65520.0f, 0x1p-25f, 0x1.8p-24f, -0.0f};
        std::copy(std::begin(special), std::end(special), c.values.begin());
        for (const TensorType type : {TensorType::F32, TensorType::F16, TensorType::BF16})
            EXPECT_EQ(encode(type, c, Arithmetic::x86_64, nullptr), peer.encode(type, c.values, c.row_length, {}));
    }
}

// Every half there is and floats around every rounding, in rows that do not end with the lanes, at odd addresses.
TEST(EncodeFloats, AreTheSameOnEverySet) {
    std::vector<uint8_t> words(2 * 65'536 + 1);
    std::vector<float> floats;
    for (uint32_t h = 0; h < 65'536; ++h) {
        words[2 * h + 1] = uint8_t(h);
        words[2 * h + 2] = uint8_t(h >> 8);
        for (const uint32_t low : {0x0000u, 0x0fffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
            floats.push_back(std::bit_cast<float>(h << 16 | low));
    }
    const auto bits = [](float x) { return std::bit_cast<uint32_t>(x); };
    for (const EncoderSet* set : runnable_sets()) {
        const minfer::quant::EncoderFunctions& functions = *set->functions;
        std::vector<float> wide(65'536);
        functions.widen_f16(words.data() + 1, wide.data(), 65'535);
        for (uint32_t h = 0; h < 65'535; ++h)
            ASSERT_EQ(bits(wide[h]), bits(minfer::f16_to_f32(uint16_t(h)))) << set->name;
        functions.widen_bf16(words.data() + 1, wide.data(), 65'535);
        for (uint32_t h = 0; h < 65'535; ++h) ASSERT_EQ(bits(wide[h]), h << 16) << set->name;
        const size_t n = floats.size() - 3;
        std::vector<uint8_t> narrow(2 * n + 1), payloads(2 * n + 1), bfloats(2 * n + 1);
        functions.narrow_f16(Arithmetic::x86_64, floats.data(), narrow.data() + 1, int64_t(n));
        functions.narrow_f16(Arithmetic::aarch64_gcc, floats.data(), payloads.data() + 1, int64_t(n));
        functions.narrow_bf16(floats.data(), bfloats.data() + 1, int64_t(n));
        const auto word = [](const std::vector<uint8_t>& row, size_t i) {
            return row[2 * i + 1] | row[2 * i + 2] << 8;
        };
        for (size_t i = 0; i < n; ++i) {
            const int half = minfer::f32_to_f16(floats[i]);
            ASSERT_EQ(word(payloads, i), half) << set->name << " " << i;
            ASSERT_EQ(word(narrow, i), std::isnan(floats[i]) ? half & 0xfe00 : half) << set->name << " " << i;
            ASSERT_EQ(word(bfloats, i), minfer::f32_to_bf16(floats[i])) << set->name << " " << i;
        }
        std::vector<float> finite(67, -3.4e38f);
        EXPECT_TRUE(functions.all_finite(finite.data(), 67));
        for (size_t i = 0; i < finite.size(); ++i)
            for (const float bad : {INFINITY, -INFINITY, NAN}) {
                finite[i] = bad;
                EXPECT_FALSE(functions.all_finite(finite.data(), 67)) << set->name << " " << i;
                EXPECT_TRUE(functions.all_finite(finite.data(), int64_t(i))) << set->name << " " << i;
                finite[i] = 0.0f;
            }
    }
}

TEST(EncodeRows, RefusesWhatDoesNotFit) {
    std::vector<float> values(512, 1.0f), importance(256, 1.0f);
    std::vector<std::byte> out(2 * 144);
    const EncodeOptions plain = {};
    const EncodeOptions weighted = {.importance = importance};
    const auto encode_q4_K = [&](int64_t rows, int64_t length, const EncodeOptions& options) {
        minfer::quant::encode_rows(TensorType::Q4_K, values, rows, length, out, options);
    };
    EXPECT_NO_THROW(encode_q4_K(2, 256, weighted));
    EXPECT_NO_THROW(encode_q4_K(1, 512, plain));
    EXPECT_THROW(encode_q4_K(1, 512, weighted), minfer::ShapeError);  // importance of another length
    EXPECT_THROW(encode_q4_K(4, 128, plain), minfer::ShapeError);     // no whole super-block
    EXPECT_THROW(encode_q4_K(1, 256, plain), minfer::ShapeError);     // too many values
    EXPECT_THROW(encode_q4_K(-1, -512, plain), minfer::ShapeError);
    out.pop_back();
    EXPECT_THROW(encode_q4_K(2, 256, plain), minfer::ShapeError);
    EXPECT_THROW(minfer::quant::encode_rows(TensorType::IQ2_XS, values, 2, 256, out, plain), minfer::UnsupportedError);
    EXPECT_FALSE(minfer::quant::can_encode(TensorType::IQ2_XS));
}

// Any split of the rows over calls gives the same bytes, and nothing is written past them.
TEST(EncodeRows, RowsAreIndependent) {
    for (const EncodedType& encoded : minfer::test::kEncodedTypes)
        for (const EncodeCase& c : minfer::test::encode_cases(encoded.type, 1'000, 6)) {
            const auto whole = encode(encoded.type, c, Arithmetic::x86_64, nullptr);
            const size_t row_bytes = size_t(minfer::gguf::row_bytes(encoded.type, uint64_t(c.row_length)));
            std::vector<std::byte> out(whole.size(), std::byte(0xa5));
            for (size_t row = 0; row * row_bytes < out.size(); ++row)
                minfer::quant::encode_rows(
                    encoded.type, std::span(c.values).subspan(row * size_t(c.row_length), size_t(c.row_length)), 1,
                    c.row_length, std::span(out).subspan(row * row_bytes, row_bytes), {.importance = c.importance});
            EXPECT_EQ(out, whole) << encoded.name << ", " << c.name;
        }
}

TEST(EncoderSets, AreChosenByNeedAndByName) {
    using minfer::CpuFeatures;
    using minfer::quant::choose_encoder_set;
    EXPECT_EQ(choose_encoder_set(CpuFeatures{}).name, "scalar");
    EXPECT_EQ(choose_encoder_set(CpuFeatures{}, "scalar").name, "scalar");
    EXPECT_THROW(choose_encoder_set(CpuFeatures{}, "mmx"), minfer::UsageError);
#if defined(__x86_64__)
    EXPECT_EQ(choose_encoder_set(CpuFeatures{.avx2 = true, .fma = true, .f16c = true}).name, "avx2");
    EXPECT_EQ(choose_encoder_set(CpuFeatures{.avx2 = true, .fma = true}).name, "scalar");
    const CpuFeatures all = {.avx2 = true, .fma = true, .f16c = true, .avx512f = true};
    EXPECT_EQ(choose_encoder_set(all).name, "avx512");
    EXPECT_EQ(choose_encoder_set(all, "avx2").name, "avx2");
    EXPECT_THROW(choose_encoder_set(CpuFeatures{.avx2 = true, .fma = true, .f16c = true}, "avx512"),
                 minfer::UsageError);
#endif
}

}  // namespace
