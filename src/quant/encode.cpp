#include "quant/encode.h"

#include <cstring>
#include <string>

#include "base/error.h"
#include "base/half.h"

namespace minfer::quant {
namespace {

using gguf::TensorType;

// The environment's best set, asked once: the answer cannot change within a process.
const EncoderSet& default_set() {
    static const EncoderSet& set = []() -> const EncoderSet& {
        CpuFeatures cpu = detect_cpu_features();
        apply_environment(cpu);
        return choose_encoder_set(cpu);
    }();
    return set;
}

// A NaN becomes what the builds' own conversions make of it: x86-64's is in software and drops the payload.
uint16_t to_half(float x, Arithmetic arithmetic) {
    if (x != x && arithmetic == Arithmetic::x86_64)
        return uint16_t((std::bit_cast<uint32_t>(x) >> 16 & 0x8000u) | 0x7e00u);
    return f32_to_f16(x);
}

template <class Convert>
void convert_halves(std::span<const float> src, std::byte* dst, const Convert& convert) {
    for (const float x : src) {
        const uint16_t h = convert(x);
        std::memcpy(dst, &h, sizeof h);
        dst += sizeof h;
    }
}

[[noreturn]] void refuse_sizes(const std::string& what, uint64_t found, uint64_t expected) {
    throw ShapeError("encode_rows: " + what + " is " + std::to_string(found) + ", expected " +
                     std::to_string(expected));
}

}  // namespace

bool can_encode(TensorType type) {
    switch (type) {
        case TensorType::F32:
        case TensorType::F16:
        case TensorType::BF16:
        case TensorType::Q4_0:
        case TensorType::Q4_1:
        case TensorType::Q5_0:
        case TensorType::Q5_1:
        case TensorType::Q8_0:
        case TensorType::Q2_K:
        case TensorType::Q3_K:
        case TensorType::Q4_K:
        case TensorType::Q5_K:
        case TensorType::Q6_K:
        case TensorType::IQ4_NL:
        case TensorType::IQ4_XS:
            return true;
        default:
            return false;
    }
}

void encode_rows(TensorType type, std::span<const float> src, int64_t n_rows, int64_t row_length,
                 std::span<std::byte> dst, const EncodeOptions& options) {
    if (!can_encode(type))
        throw UnsupportedError("encode_rows: tensor type " + std::string(gguf::type_name(type)) + " has no encoder");
    if (n_rows < 0 || row_length <= 0) throw ShapeError("encode_rows: rows and their length must be positive");
    const uint64_t row_bytes = gguf::row_bytes(type, uint64_t(row_length));
    if (src.size() != uint64_t(n_rows) * uint64_t(row_length))
        refuse_sizes("the number of values", src.size(), uint64_t(n_rows) * uint64_t(row_length));
    if (dst.size() != uint64_t(n_rows) * row_bytes)
        refuse_sizes("the destination's size", dst.size(), uint64_t(n_rows) * row_bytes);
    if (!options.importance.empty() && options.importance.size() != uint64_t(row_length))
        refuse_sizes("the importance's length", options.importance.size(), uint64_t(row_length));

    switch (type) {
        case TensorType::F32:
            if (!src.empty()) std::memcpy(dst.data(), src.data(), src.size_bytes());
            return;
        case TensorType::F16:
            return convert_halves(src, dst.data(), [&](float x) { return to_half(x, options.arithmetic); });
        case TensorType::BF16:
            return convert_halves(src, dst.data(), [](float x) { return f32_to_bf16(x); });
        default: {
            const int64_t blocks_per_row = row_length / int64_t(gguf::block_size(type));
            const EncodeJob job = {.src = src.data(),
                                   .importance = options.importance.empty() ? nullptr : options.importance.data(),
                                   .n_blocks = n_rows * blocks_per_row,
                                   .blocks_per_row = blocks_per_row,
                                   .dst = reinterpret_cast<uint8_t*>(dst.data())};
            const EncoderSet& set = options.set != nullptr ? *options.set : default_set();
            set.encode(type, options.arithmetic, job);
        }
    }
}

}  // namespace minfer::quant
