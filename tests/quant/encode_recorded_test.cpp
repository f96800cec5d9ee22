// The rows of ../shared/refs/encode against the digests recorded from real builds: the only builds of
// aarch64-gcc that the tests know, and the other two as they were on that day.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "encode_cases.h"
#include "quant/encode.h"
#include "support/support.h"

namespace {

using minfer::quant::Arithmetic;

std::filesystem::path recorded(const std::string& name) {
    return minfer::test::shared_dir() / "refs" / "encode" / name;
}

std::vector<float> read_floats(const std::filesystem::path& path) {
    const std::string bytes = minfer::test::read_file(path);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
}

class Recorded : public testing::TestWithParam<const char*> {};

TEST_P(Recorded, DigestsOfTheThreeArithmetics) {
    const std::string name = GetParam();
    std::ifstream file(minfer::test::source_dir() / "tests/quant/data/encode_digests.json");
    const auto digests = nlohmann::json::parse(file).at(name);
    MINFER_SKIP_WITHOUT(recorded(name + ".f32"));
    const std::vector<float> values = read_floats(recorded(name + ".f32"));
    const int64_t rows = digests.at("rows"), columns = digests.at("columns");
    std::vector<float> importance;
    if (digests.at("imatrix")) importance = read_floats(recorded(name + ".imatrix.f32"));
    for (const Arithmetic arithmetic : {Arithmetic::x86_64, Arithmetic::aarch64_clang, Arithmetic::aarch64_gcc}) {
        const auto& expected = digests.at("sha256").at(std::string(arithmetic_name(arithmetic)));
        for (const minfer::test::EncodedType& encoded : minfer::test::kEncodedTypes) {
            std::vector<std::byte> out(size_t(rows) * minfer::gguf::row_bytes(encoded.type, uint64_t(columns)));
            minfer::quant::encode_rows(encoded.type, values, rows, columns, out,
                                       {.arithmetic = arithmetic, .importance = importance});
            minfer::Sha256 sha;
            sha.update(out);
            EXPECT_EQ(sha.hex_digest(), expected.at(encoded.name).get<std::string>())
                << arithmetic_name(arithmetic) << " " << encoded.name;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, Recorded, testing::Values("normal", "heavy", "bf16", "edges", "grid", "imatrix"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
