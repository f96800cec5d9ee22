#include "quant/encode.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>

#include "base/error.h"
#include "encode_cases.h"
#include "peer_library.h"
#include "support/support.h"

namespace {

using minfer::gguf::TensorType;
using minfer::quant::Arithmetic;
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
    const int64_t values = minfer::test::test_values(40'000);
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
    const std::vector<EncodeCase> cases = minfer::test::encode_cases(type, minfer::test::test_values(40'000), 2);
    std::vector<minfer::test::EncodeRequest> requests;
    for (const EncodeCase& c : cases) requests.push_back({type, c.row_length, c.values, c.importance});
    for (const ArmBuild& build : arm_builds()) {
        MINFER_SKIP_WITHOUT(build.library);
        MINFER_SKIP_WITHOUT(minfer::test::arm_program());
        const auto expected = minfer::test::encode_on_arm(build.library, requests);
        for (size_t i = 0; i < cases.size(); ++i)
            EXPECT_EQ(differences(type, cases[i], encode(type, cases[i], build.arithmetic, nullptr), expected[i]), "")
                << cases[i].name << ", " << arithmetic_name(build.arithmetic);
    }
}

INSTANTIATE_TEST_SUITE_P(Types, Encode, testing::ValuesIn(minfer::test::kEncodedTypes),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
