// Conversions of values against numpy and the gguf package: every half, and floats around every rounding.
#include "convert/values.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "base/error.h"
#include "support/support.h"

namespace minfer::test {
namespace {

using convert::Dtype;
using gguf::TensorType;

std::string bytes_of(const auto& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])};
}

std::string every_half() {
    std::vector<uint16_t> halves(65536);
    for (size_t i = 0; i < halves.size(); ++i) halves[i] = uint16_t(i);
    return bytes_of(halves);
}

// Bit patterns around every f16 and bf16 value and half-way between, NaNs with all kinds of payload, and noise.
std::string many_floats() {
    std::vector<uint32_t> bits;
    for (uint32_t h = 0; h < 65536; ++h) {
        for (const uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) bits.push_back((h << 16) | low);
        for (const uint32_t low : {0x0fffu, 0x1000u, 0x1001u, 0x3000u}) bits.push_back((h << 16) | low);
    }
    std::mt19937 random(7);
    while (bits.size() % 32 != 0 || bits.size() < 1'000'000) bits.push_back(uint32_t(random()));
    return bytes_of(bits);
}

bool is_finite(const std::string& bytes, Dtype dtype, size_t i) {
    uint32_t bits = 0;
    const size_t size = convert::value_size(dtype);
    std::memcpy(&bits, bytes.data() + i * size, size);
    if (dtype == Dtype::F16) return (bits & 0x7c00) != 0x7c00;
    return std::isfinite(std::bit_cast<float>(dtype == Dtype::F32 ? bits : bits << 16));
}

class Values : public testing::TestWithParam<std::tuple<const char*, TensorType>> {
  protected:
    Dtype from() const {
        const std::string name = std::get<0>(GetParam());
        return name == "F32" ? Dtype::F32 : name == "F16" ? Dtype::F16 : Dtype::BF16;
    }
    TensorType to() const { return std::get<1>(GetParam()); }

    std::string input() const {
        std::string in = from() == Dtype::F32 ? many_floats() : every_half();
        const size_t size = convert::value_size(from());
        if (to() == TensorType::Q8_0)
            for (size_t i = 0; i < in.size() / size; ++i)
                if (!is_finite(in, from(), i)) std::memset(in.data() + i * size, 0, size);
        return in;
    }
    std::string convert_with(const convert::ValueKernels& kernels, const std::string& in) const {
        std::string out(size_t(gguf::row_bytes(to(), in.size() / convert::value_size(from()))), '\xee');
        convert::convert_values(kernels, from(), std::as_bytes(std::span(in)), to(),
                                std::as_writable_bytes(std::span(out)));
        return out;
    }
};

TEST_P(Values, AreTheReferences) {
    MINFER_SKIP_WITHOUT(python());
    const TemporaryFolder folder;
    const std::string in = input();
    write_file(folder / "in", in);
    const std::string type = to() == TensorType::F32    ? "F32"
                             : to() == TensorType::F16  ? "F16"
                             : to() == TensorType::BF16 ? "BF16"
                                                        : "Q8_0";
    const Finished done = run({python().string(), (source_dir() / "tests" / "convert" / "values_oracle.py").string(),
                               std::get<0>(GetParam()), type, (folder / "in").string(), (folder / "out").string()});
    ASSERT_EQ(done.status, 0) << done.err;
    const std::string expected = read_file(folder / "out");
    const std::string found = convert_with(convert::portable_value_kernels(), in);
    ASSERT_EQ(found.size(), expected.size());
    const size_t size = size_t(gguf::row_bytes(to(), 32)) / (to() == TensorType::Q8_0 ? 1 : 32);
    size_t n_wrong = 0;
    for (size_t i = 0; i < found.size(); i += size)
        if (found.compare(i, size, expected, i, size) != 0 && ++n_wrong < 5)
            ADD_FAILURE() << "value or block " << i / size;
    EXPECT_EQ(n_wrong, 0u);
}

TEST_P(Values, AreTheSameOnEveryInstructionSet) {
    const convert::ValueKernels* fast = convert::f16c_value_kernels(detect_cpu_features());
    if (!fast) GTEST_SKIP() << "this CPU, or this build, is without F16C";
    std::string in = input();
    EXPECT_TRUE(convert_with(*fast, in) == convert_with(convert::portable_value_kernels(), in));
    const size_t block = 32 * convert::value_size(from());
    for (size_t n = 0; n < 5; ++n) {  // lengths around the vectors'
        const size_t bytes = to() == TensorType::Q8_0 ? n * block : (n * 7 + n / 2) * convert::value_size(from());
        const std::string some = in.substr(in.size() / 2, bytes);
        EXPECT_EQ(convert_with(*fast, some), convert_with(convert::portable_value_kernels(), some)) << n;
    }
}

INSTANTIATE_TEST_SUITE_P(All, Values,
                         testing::Combine(testing::Values("F32", "F16", "BF16"),
                                          testing::Values(TensorType::F32, TensorType::F16, TensorType::BF16,
                                                          TensorType::Q8_0)),
                         [](const auto& one) {
                             return std::string(std::get<0>(one.param)) + "_to_" +
                                    std::string(gguf::type_name(std::get<1>(one.param)));
                         });

TEST_P(Values, MayStandAtAnyAddress) {
    const std::string in = input().substr(0, 4096 * convert::value_size(from()));
    const std::string expected = convert_with(convert::portable_value_kernels(), in);
    const convert::ValueKernels* fast = convert::f16c_value_kernels(detect_cpu_features());
    for (const convert::ValueKernels* kernels : {&convert::portable_value_kernels(), fast}) {
        if (!kernels) continue;
        std::string shifted = "x" + in, out(expected.size() + 1, '\xee');
        convert::convert_values(*kernels, from(), std::as_bytes(std::span(shifted)).subspan(1), to(),
                                std::as_writable_bytes(std::span(out)).subspan(1));
        EXPECT_TRUE(out.substr(1) == expected) << kernels->name;
        EXPECT_EQ(out[0], '\xee');
    }
}

TEST(ValuesSizes, MustGoTogether) {
    std::vector<std::byte> in(64), out(63);
    EXPECT_THROW(convert::convert_values(convert::portable_value_kernels(), Dtype::BF16, in, TensorType::F16, out),
                 ShapeError);
    EXPECT_THROW(convert::convert_values(convert::portable_value_kernels(), Dtype::Other, in, TensorType::F16, out),
                 ShapeError);
}

}  // namespace
}  // namespace minfer::test
