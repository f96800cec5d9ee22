#include "gguf/block_check.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/half.h"

namespace minfer::gguf {
namespace {

enum class Number { F16, BF16, F32, F64, E8M0 };

// One number of a block: where it stands and how it is written. Offsets: ggml/src/ggml-common.h of llama.cpp.
struct Scale {
    size_t offset;
    Number number;
};

std::vector<Scale> scales_of(TensorType type) {
    switch (type) {
        case TensorType::F32:
            return {{0, Number::F32}};
        case TensorType::F64:
            return {{0, Number::F64}};
        case TensorType::F16:
            return {{0, Number::F16}};
        case TensorType::BF16:
            return {{0, Number::BF16}};
        case TensorType::Q4_0:
        case TensorType::Q5_0:
        case TensorType::Q8_0:
        case TensorType::IQ2_XXS:
        case TensorType::IQ2_XS:
        case TensorType::IQ2_S:
        case TensorType::IQ3_XXS:
        case TensorType::IQ3_S:
        case TensorType::IQ1_S:
        case TensorType::IQ4_NL:
        case TensorType::IQ4_XS:
        case TensorType::Q1_0:
        case TensorType::Q2_0:
            return {{0, Number::F16}};
        case TensorType::Q4_1:
        case TensorType::Q5_1:
        case TensorType::Q8_1:
        case TensorType::Q4_K:
        case TensorType::Q5_K:
            return {{0, Number::F16}, {2, Number::F16}};
        case TensorType::Q2_K:
            return {{80, Number::F16}, {82, Number::F16}};
        case TensorType::Q3_K:
            return {{108, Number::F16}};
        case TensorType::Q6_K:
            return {{208, Number::F16}};
        case TensorType::Q8_K:
            return {{0, Number::F32}};
        case TensorType::TQ1_0:
            return {{52, Number::F16}};
        case TensorType::TQ2_0:
            return {{64, Number::F16}};
        case TensorType::MXFP4:
            return {{0, Number::E8M0}};
        case TensorType::IQ1_M:  // see iq1_m_scale
        case TensorType::NVFP4:  // its scales are bytes that ggml reads as finite, whatever their bits
        case TensorType::I8:
        case TensorType::I16:
        case TensorType::I32:
        case TensorType::I64:
            break;
    }
    return {};
}

template <typename T>
T load(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
}

// As a float that is NaN or infinite where the number is.
float read(Number number, const std::byte* at) {
    constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
    switch (number) {
        case Number::F16:
            return f16_to_f32(load<uint16_t>(at));
        case Number::BF16:
            return bf16_to_f32(load<uint16_t>(at));
        case Number::F32:
            return load<float>(at);
        case Number::F64: {
            const auto value = load<double>(at);
            return std::isfinite(value) ? 0.0f : float(value);  // a double past float's range is a fine double
        }
        case Number::E8M0:
            return load<uint8_t>(at) == 0xff ? kNaN : 0.0f;  // has no infinity
    }
    return kNaN;
}

// IQ1_M spreads one f16 over the high four bits of its four 16-bit words of sub-block scales, at byte 48.
float iq1_m_scale(const std::byte* block) {
    uint16_t bits = 0;
    for (size_t i = 0; i < 4; ++i) bits |= uint16_t((load<uint16_t>(block + 48 + 2 * i) >> 12) << (4 * i));
    return f16_to_f32(bits);
}

}  // namespace

bool is_float(TensorType type) {
    return type == TensorType::F32 || type == TensorType::F16 || type == TensorType::BF16 || type == TensorType::F64;
}

void BlockChecker::note(float value, uint64_t block) {
    if (std::isfinite(value)) return;
    const bool nan = std::isnan(value);
    ++(nan ? findings_.n_nan : findings_.n_infinite);
    auto& first = nan ? findings_.first_nan : findings_.first_infinite;
    if (!first) first = block;
}

void BlockChecker::check(std::span<const std::byte> blocks) {
    const size_t size = type_size(type_), n = blocks.size() / size;
    if (type_ == TensorType::IQ1_M) {
        for (size_t b = 0; b < n; ++b) note(iq1_m_scale(blocks.data() + b * size), n_blocks_ + b);
    } else {
        for (const Scale& scale : scales_of(type_))
            for (size_t b = 0; b < n; ++b)
                note(read(scale.number, blocks.data() + b * size + scale.offset), n_blocks_ + b);
    }
    n_blocks_ += n;
}

}  // namespace minfer::gguf
