// Values to encode, of every kind that has made encoders differ. The same on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gguf/types.h"

namespace minfer::test {

struct EncodeCase {
    std::string name;  // of each kind of row, for messages
    int64_t row_length = 0;
    std::vector<float> values;      // whole rows
    std::vector<float> importance;  // one row, or empty
};

// What row `row` of a case holds: normals, heavy tails, constants, zeros, subnormals, ties, huge values ...
std::string row_kind(int64_t row);

// Cases with rows of 32 to 4096 values that `type` divides, without and with importance, about `n_values` of each in
// all; every case has every kind of row, so few values leave out the long rows.
std::vector<EncodeCase> encode_cases(gguf::TensorType type, int64_t n_values, uint64_t seed);

// $MINFER_TEST_VALUES, or `otherwise`.
int64_t test_values(int64_t otherwise);

struct EncodedType {
    gguf::TensorType type;
    const char* name;
};
inline constexpr EncodedType kEncodedTypes[] = {
    {gguf::TensorType::Q4_0, "q4_0"}, {gguf::TensorType::Q4_1, "q4_1"},     {gguf::TensorType::Q5_0, "q5_0"},
    {gguf::TensorType::Q5_1, "q5_1"}, {gguf::TensorType::Q8_0, "q8_0"},     {gguf::TensorType::Q2_K, "q2_K"},
    {gguf::TensorType::Q3_K, "q3_K"}, {gguf::TensorType::Q4_K, "q4_K"},     {gguf::TensorType::Q5_K, "q5_K"},
    {gguf::TensorType::Q6_K, "q6_K"}, {gguf::TensorType::IQ4_NL, "iq4_nl"}, {gguf::TensorType::IQ4_XS, "iq4_xs"},
};

}  // namespace minfer::test
