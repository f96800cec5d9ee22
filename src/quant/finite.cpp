#include "quant/finite.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace minfer::quant {

namespace {

using gguf::TensorType;

template <typename Word>
Word load(const std::byte* at) {
    Word word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

// Plain floats of one size: all ones in the exponent mean infinity, or NaN where the fraction is not zero.
template <typename Word>
std::optional<NonFinite> scan_floats(std::span<const std::byte> bytes, Word exponent) {
    const Word magnitude = Word(~(Word(1) << (sizeof(Word) * 8 - 1)));
    const size_t n = bytes.size() / sizeof(Word);
    constexpr size_t kStride = 256;  // looked at together, without a branch a value
    for (size_t at = 0; at < n; at += kStride) {
        const size_t end = n - at < kStride ? n : at + kStride;
        bool any = false;
        for (size_t i = at; i < end; ++i) any |= (load<Word>(&bytes[i * sizeof(Word)]) & exponent) == exponent;
        if (!any) continue;
        for (size_t i = at; i < end; ++i) {
            const Word word = load<Word>(&bytes[i * sizeof(Word)]);
            if ((word & exponent) == exponent) return NonFinite{i, (word & magnitude) == exponent ? "infinity" : "NaN"};
        }
    }
    return std::nullopt;
}

// Where a block of `type` keeps its half-float scales; the second is -1 where there is one.
struct Scales {
    int first, second;
};
std::optional<Scales> scales_of(TensorType type) {
    switch (type) {
        case TensorType::Q4_0:
        case TensorType::Q5_0:
        case TensorType::Q8_0:
        case TensorType::IQ4_NL:
        case TensorType::IQ4_XS:
        case TensorType::IQ2_XXS:
        case TensorType::IQ2_XS:
        case TensorType::IQ2_S:
        case TensorType::IQ3_XXS:
        case TensorType::IQ3_S:
        case TensorType::IQ1_S:
        case TensorType::Q1_0:
        case TensorType::Q2_0:
            return Scales{0, -1};
        case TensorType::Q4_1:
        case TensorType::Q5_1:
        case TensorType::Q8_1:
        case TensorType::Q4_K:
        case TensorType::Q5_K:
            return Scales{0, 2};
        case TensorType::Q2_K:
            return Scales{80, 82};
        case TensorType::Q3_K:
            return Scales{108, -1};
        case TensorType::Q6_K:
            return Scales{208, -1};
        case TensorType::TQ1_0:
            return Scales{52, -1};
        case TensorType::TQ2_0:
            return Scales{64, -1};
        default:
            return std::nullopt;
    }
}

std::optional<NonFinite> scan_scales(TensorType type, std::span<const std::byte> bytes, Scales scales) {
    constexpr uint16_t kExponent = 0x7c00;
    const size_t size = gguf::type_size(type), n = bytes.size() / size;
    const size_t first = size_t(scales.first), second = size_t(scales.second < 0 ? scales.first : scales.second);
    for (size_t block = 0; block < n; ++block)
        for (size_t offset : {first, second}) {
            const uint16_t scale = load<uint16_t>(&bytes[block * size + offset]);
            if ((scale & kExponent) == kExponent)
                return NonFinite{block * gguf::block_size(type),
                                 (scale & 0x3ff) != 0 ? "a NaN scale" : "an infinite scale"};
        }
    return std::nullopt;
}

// MXFP4's scale is a power of two in the first byte, of which 255 is NaN.
std::optional<NonFinite> scan_e8m0(TensorType type, std::span<const std::byte> bytes) {
    const size_t size = gguf::type_size(type);
    for (size_t at = 0; at < bytes.size(); at += size)
        if (bytes[at] == std::byte{0xff}) return NonFinite{at / size * gguf::block_size(type), "a NaN scale"};
    return std::nullopt;
}

}  // namespace

std::optional<NonFinite> find_non_finite(TensorType type, std::span<const std::byte> bytes) {
    switch (type) {
        case TensorType::F32:
            return scan_floats<uint32_t>(bytes, 0x7f800000u);
        case TensorType::F16:
            return scan_floats<uint16_t>(bytes, 0x7c00u);
        case TensorType::BF16:
            return scan_floats<uint16_t>(bytes, 0x7f80u);
        case TensorType::F64:
            return scan_floats<uint64_t>(bytes, 0x7ff0000000000000u);
        case TensorType::MXFP4:
            return scan_e8m0(type, bytes);
        default:
            break;
    }
    const auto scales = scales_of(type);
    return scales ? scan_scales(type, bytes, *scales) : std::nullopt;
}

}  // namespace minfer::quant
