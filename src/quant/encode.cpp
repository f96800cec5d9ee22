#include "quant/encode.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "base/error.h"

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

// f32_to_f16 without a branch, so that compilers make vectors of it. A NaN becomes what the builds' own conversions
// make of it: x86-64's is in software and drops the payload, Arm's keeps the payload's upper bits.
uint16_t to_half(float x, bool keeps_payload) {
    const uint32_t bits = std::bit_cast<uint32_t>(x), magnitude = bits & 0x7fffffffu;
    const uint32_t normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
    // Below 2^-14 a half counts in 2^-24, which is also the last place of a float in [0.5, 1).
    const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
    const uint32_t payload = keeps_payload ? (magnitude >> 13) & 0x1ffu : 0u;
    uint32_t h = magnitude < 0x38800000u ? subnormal : normal;
    h = magnitude < 0x477ff000u ? h : 0x7c00u;
    h = magnitude > 0x7f800000u ? 0x7e00u | payload : h;
    return uint16_t(h | ((bits >> 16) & 0x8000u));
}

uint16_t to_bfloat(float x) {
    const uint32_t bits = std::bit_cast<uint32_t>(x), magnitude = bits & 0x7fffffffu;
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return uint16_t(magnitude > 0x7f800000u ? (bits >> 16) | 0x40u : rounded);
}

// Through a buffer, since dst need not be aligned.
template <class Convert>
void convert_halves(std::span<const float> src, std::byte* dst, const Convert& convert) {
    constexpr size_t kChunk = 256;
    uint16_t halves[kChunk];
    for (size_t first = 0; first < src.size(); first += kChunk) {
        const size_t n = std::min(kChunk, src.size() - first);
        for (size_t i = 0; i < n; ++i) halves[i] = convert(src[first + i]);
        std::memcpy(dst + first * sizeof(uint16_t), halves, n * sizeof(uint16_t));
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
            if (options.arithmetic == Arithmetic::x86_64)
                return convert_halves(src, dst.data(), [](float x) { return to_half(x, false); });
            return convert_halves(src, dst.data(), [](float x) { return to_half(x, true); });
        case TensorType::BF16:
            return convert_halves(src, dst.data(), to_bfloat);
        default: {
            const int64_t blocks_per_row = row_length / int64_t(gguf::block_size(type));
            const EncodeJob job = {.src = src.data(),
                                   .importance = options.importance.empty() ? nullptr : options.importance.data(),
                                   .n_blocks = n_rows * blocks_per_row,
                                   .blocks_per_row = blocks_per_row,
                                   .dst = reinterpret_cast<uint8_t*>(dst.data())};
            const EncoderSet& set = options.set != nullptr ? *options.set : default_set();
            (*set.encode)(type, options.arithmetic, job);
        }
    }
}

}  // namespace minfer::quant
