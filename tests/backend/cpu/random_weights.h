// Blocks of every weight type with random integers and scales of a chosen size.
#pragma once

#include <string>
#include <vector>

#include "backend/cpu/weights.h"
#include "each_kernels.h"

namespace minfer::cpu::test {

inline constexpr gguf::TensorType kWeightTypesInOrder[] = {
    gguf::TensorType::F32,  gguf::TensorType::F16,    gguf::TensorType::BF16,  gguf::TensorType::Q4_0,
    gguf::TensorType::Q4_1, gguf::TensorType::Q5_0,   gguf::TensorType::Q5_1,  gguf::TensorType::Q8_0,
    gguf::TensorType::Q2_K, gguf::TensorType::Q3_K,   gguf::TensorType::Q4_K,  gguf::TensorType::Q5_K,
    gguf::TensorType::Q6_K, gguf::TensorType::IQ4_NL, gguf::TensorType::IQ4_XS};

// n_out rows of n_in values that end at a guard page. Scales are about `magnitude`; integers take all their values.
class RandomWeights {
  public:
    RandomWeights(gguf::TensorType type, size_t n_out, size_t n_in, uint64_t seed, float magnitude = 0.01f);
    Weights weights() const { return weights_; }
    // All values, decoded by quant::decode_row: [n_out][n_in].
    std::vector<float> decoded() const;

  private:
    Guarded<std::byte> bytes_;
    Weights weights_;
};

}  // namespace minfer::cpu::test
