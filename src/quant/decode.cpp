#include "quant/decode.h"

#include <cstdint>
#include <cstring>
#include <string>

#include "base/error.h"
#include "base/half.h"
#include "quant/blocks.h"
#include "quant/encoders.h"

namespace minfer::quant {
namespace {

using gguf::TensorType;

[[noreturn]] void refuse_sizes(size_t bytes, size_t values, size_t block_size, size_t block_bytes) {
    throw ShapeError("decode_row: " + std::to_string(bytes) + " bytes are not " + std::to_string(values) +
                     " values in blocks of " + std::to_string(block_size) + " values and " +
                     std::to_string(block_bytes) + " bytes");
}

void decode_f32(std::span<const std::byte> row, std::span<float> out) {
    if (row.size() != out.size_bytes()) refuse_sizes(row.size(), out.size(), 1, sizeof(float));
    if (!row.empty()) std::memcpy(out.data(), row.data(), row.size());
}

void decode_words(std::span<const std::byte> row, std::span<float> out,
                  void (*widen)(const uint8_t* in, float* out, int64_t n)) {
    if (row.size() != out.size() * sizeof(uint16_t)) refuse_sizes(row.size(), out.size(), 1, sizeof(uint16_t));
    widen(reinterpret_cast<const uint8_t*>(row.data()), out.data(), int64_t(out.size()));
}
void decode_f16(std::span<const std::byte> row, std::span<float> out) {
    decode_words(row, out, default_encoder_set().functions->widen_f16);
}
void decode_bf16(std::span<const std::byte> row, std::span<float> out) {
    decode_words(row, out, default_encoder_set().functions->widen_bf16);
}

void decode_block(const BlockQ4_0& block, float* out) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 16; ++i) {
        out[i] = float((block.qs[i] & 15) - 8) * d;
        out[i + 16] = float((block.qs[i] >> 4) - 8) * d;
    }
}

void decode_block(const BlockQ4_1& block, float* out) {
    const float d = f16_to_f32(block.d), m = f16_to_f32(block.m);
    for (int i = 0; i < 16; ++i) {
        out[i] = float(block.qs[i] & 15) * d + m;
        out[i + 16] = float(block.qs[i] >> 4) * d + m;
    }
}

// q_i of Q5_0 and Q5_1.
int five_bits(const uint8_t (&qs)[16], const uint8_t (&qh)[4], int i) {
    const int low = i < 16 ? qs[i] & 15 : qs[i - 16] >> 4;
    return low | ((qh[i / 8] >> (i % 8)) & 1) << 4;
}

void decode_block(const BlockQ5_0& block, float* out) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 32; ++i) out[i] = float(five_bits(block.qs, block.qh, i) - 16) * d;
}

void decode_block(const BlockQ5_1& block, float* out) {
    const float d = f16_to_f32(block.d), m = f16_to_f32(block.m);
    for (int i = 0; i < 32; ++i) out[i] = float(five_bits(block.qs, block.qh, i)) * d + m;
}

void decode_block(const BlockQ8_0& block, float* out) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 32; ++i) out[i] = float(block.qs[i]) * d;
}

void decode_block(const BlockQ2_K& block, float* out) {
    const float d = f16_to_f32(block.d), dmin = f16_to_f32(block.dmin);
    for (int g = 0; g < 16; ++g) {
        const float scale = d * float(block.scales[g] & 15), min = dmin * float(block.scales[g] >> 4);
        const uint8_t* qs = block.qs + 32 * (g / 8) + 16 * (g % 2);
        const int shift = 2 * (g / 2 % 4);
        for (int i = 0; i < 16; ++i) out[16 * g + i] = scale * float((qs[i] >> shift) & 3) - min;
    }
}

void decode_block(const BlockQ3_K& block, float* out) {
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < 16; ++g) {
        const float scale = d * float(unpack_scale_q3_K(block.scales, g) - 32);
        const uint8_t* qs = block.qs + 32 * (g / 8) + 16 * (g % 2);
        const uint8_t* hmask = block.hmask + 16 * (g % 2);
        const int shift = 2 * (g / 2 % 4);
        for (int i = 0; i < 16; ++i) {
            const int q = ((qs[i] >> shift) & 3) | ((hmask[i] >> (g / 2)) & 1) << 2;
            out[16 * g + i] = scale * float(q - 4);
        }
    }
}

void decode_block(const BlockQ4_K& block, float* out) {
    const float d = f16_to_f32(block.d), dmin = f16_to_f32(block.dmin);
    for (int g = 0; g < 8; ++g) {
        const ScaleMin packed = unpack_scale_q4_K(block.scales, g);
        const float scale = d * float(packed.scale), min = dmin * float(packed.min);
        const uint8_t* qs = block.qs + 32 * (g / 2);
        const int shift = 4 * (g % 2);
        for (int i = 0; i < 32; ++i) out[32 * g + i] = scale * float((qs[i] >> shift) & 15) - min;
    }
}

void decode_block(const BlockQ5_K& block, float* out) {
    const float d = f16_to_f32(block.d), dmin = f16_to_f32(block.dmin);
    for (int g = 0; g < 8; ++g) {
        const ScaleMin packed = unpack_scale_q4_K(block.scales, g);
        const float scale = d * float(packed.scale), min = dmin * float(packed.min);
        const uint8_t* qs = block.qs + 32 * (g / 2);
        const int shift = 4 * (g % 2);
        for (int i = 0; i < 32; ++i) {
            const int q = ((qs[i] >> shift) & 15) | ((block.qh[i] >> g) & 1) << 4;
            out[32 * g + i] = scale * float(q) - min;
        }
    }
}

void decode_block(const BlockQ6_K& block, float* out) {
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < 16; ++g) {
        const float scale = d * float(block.scales[g]);
        const int half = g / 8, plane = g / 2 % 4, first = 16 * (g % 2);
        const uint8_t* ql = block.ql + 64 * half + 32 * (plane % 2) + first;
        const uint8_t* qh = block.qh + 32 * half + first;
        for (int i = 0; i < 16; ++i) {
            const int q = ((ql[i] >> (4 * (plane / 2))) & 15) | ((qh[i] >> (2 * plane)) & 3) << 4;
            out[16 * g + i] = scale * float(q - 32);
        }
    }
}

void decode_block(const BlockIQ4_NL& block, float* out) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 16; ++i) {
        out[i] = d * float(kIq4Values[block.qs[i] & 15]);
        out[i + 16] = d * float(kIq4Values[block.qs[i] >> 4]);
    }
}

void decode_block(const BlockIQ4_XS& block, float* out) {
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < 8; ++g) {
        const float scale = d * float(unpack_scale_iq4_xs(block, g) - 32);
        for (int i = 0; i < 16; ++i) {
            const uint8_t packed = block.qs[16 * g + i];
            out[32 * g + i] = scale * float(kIq4Values[packed & 15]);
            out[32 * g + 16 + i] = scale * float(kIq4Values[packed >> 4]);
        }
    }
}

template <class Block, size_t kValues>
void decode_blocks(std::span<const std::byte> row, std::span<float> out) {
    const size_t n_blocks = row.size() / sizeof(Block);
    if (row.size() % sizeof(Block) != 0 || out.size() != n_blocks * kValues)
        refuse_sizes(row.size(), out.size(), kValues, sizeof(Block));
    for (size_t i = 0; i < n_blocks; ++i) {
        Block block;  // a copy, for a row need not be aligned
        std::memcpy(&block, row.data() + i * sizeof(Block), sizeof(Block));
        decode_block(block, out.data() + i * kValues);
    }
}

struct Decoder {
    TensorType type;
    void (*decode)(std::span<const std::byte> row, std::span<float> out);
};

constexpr Decoder kDecoders[] = {
    {TensorType::F32, decode_f32},
    {TensorType::F16, decode_f16},
    {TensorType::BF16, decode_bf16},
    {TensorType::Q4_0, decode_blocks<BlockQ4_0, kBlockSize>},
    {TensorType::Q4_1, decode_blocks<BlockQ4_1, kBlockSize>},
    {TensorType::Q5_0, decode_blocks<BlockQ5_0, kBlockSize>},
    {TensorType::Q5_1, decode_blocks<BlockQ5_1, kBlockSize>},
    {TensorType::Q8_0, decode_blocks<BlockQ8_0, kBlockSize>},
    {TensorType::Q2_K, decode_blocks<BlockQ2_K, kSuperBlockSize>},
    {TensorType::Q3_K, decode_blocks<BlockQ3_K, kSuperBlockSize>},
    {TensorType::Q4_K, decode_blocks<BlockQ4_K, kSuperBlockSize>},
    {TensorType::Q5_K, decode_blocks<BlockQ5_K, kSuperBlockSize>},
    {TensorType::Q6_K, decode_blocks<BlockQ6_K, kSuperBlockSize>},
    {TensorType::IQ4_NL, decode_blocks<BlockIQ4_NL, kBlockSize>},
    {TensorType::IQ4_XS, decode_blocks<BlockIQ4_XS, kSuperBlockSize>},
};

const Decoder* find_decoder(TensorType type) {
    for (const Decoder& decoder : kDecoders)
        if (decoder.type == type) return &decoder;
    return nullptr;
}

}  // namespace

bool can_decode(TensorType type) { return find_decoder(type) != nullptr; }

void decode_row(TensorType type, std::span<const std::byte> row, std::span<float> out) {
    const Decoder* decoder = find_decoder(type);
    if (!decoder) throw UnsupportedError("tensor type " + std::to_string(int(type)) + " has no decoder");
    decoder->decode(row, out);
}

}  // namespace minfer::quant
