#include "random_weights.h"

#include "base/half.h"
#include "quant/decode.h"

namespace minfer::cpu::test {

namespace {

// Where a block holds halves: their offsets.
std::vector<size_t> half_offsets(gguf::TensorType type) {
    using enum gguf::TensorType;
    switch (type) {
        case Q4_1:
        case Q5_1:
        case Q4_K:
        case Q5_K:
            return {0, 2};
        case Q2_K:
            return {80, 82};
        case Q3_K:
            return {108};
        case Q6_K:
            return {208};
        default:
            return {0};
    }
}

}  // namespace

RandomWeights::RandomWeights(gguf::TensorType type, size_t n_out, size_t n_in, uint64_t seed, float magnitude)
    : bytes_(n_out * gguf::row_bytes(type, n_in)),
      weights_{
          .type = type, .n_in = n_in, .n_out = n_out, .row_bytes = gguf::row_bytes(type, n_in), .data = bytes_.data()} {
    Random random(seed);
    const auto put = [&](size_t at, auto value) { std::memcpy(bytes_.data() + at, &value, sizeof value); };
    const size_t n = n_out * n_in;
    switch (type) {
        case gguf::TensorType::F32:
            for (size_t i = 0; i < n; ++i) put(4 * i, random.unit() * magnitude);
            return;
        case gguf::TensorType::F16:
            for (size_t i = 0; i < n; ++i) put(2 * i, f32_to_f16(random.unit() * magnitude));
            return;
        case gguf::TensorType::BF16:
            for (size_t i = 0; i < n; ++i) put(2 * i, f32_to_bf16(random.unit() * magnitude));
            return;
        default:
            break;
    }
    for (std::byte& b : bytes_) b = std::byte(random.next() >> 56);
    const size_t block_bytes = gguf::type_size(type);
    for (size_t at = 0; at < bytes_.size(); at += block_bytes)
        for (const size_t half : half_offsets(type)) put(at + half, f32_to_f16(random.unit() * magnitude));
}

std::vector<float> RandomWeights::decoded() const {
    std::vector<float> out(weights_.n_out * weights_.n_in);
    for (size_t r = 0; r < weights_.n_out; ++r)
        quant::decode_row(weights_.type, {weights_.data + r * weights_.row_bytes, weights_.row_bytes},
                          std::span(out).subspan(r * weights_.n_in, weights_.n_in));
    return out;
}

}  // namespace minfer::cpu::test
