#include "backend/cpu/matmul_reference.h"

#include <cmath>
#include <cstring>

#include "backend/cpu/compact_reference.h"
#include "base/half.h"
#include "quant/blocks.h"

namespace minfer::cpu {

namespace {

template <class T>
T read(const std::byte* p) {
    T x;
    std::memcpy(&x, p, sizeof x);
    return x;
}

// Where weights come from: block b of a row in a file, or of a row in a compact panel.
struct FileRow {
    const std::byte* row;
    template <class Block>
    Block block(size_t b) const {
        return read<Block>(row + b * sizeof(Block));
    }
};
struct CompactRow {
    gguf::TensorType type;
    const std::byte* panel;
    size_t row;
    template <class Block>
    Block block(size_t b) const {
        std::byte bytes[sizeof(Block)];
        read_compact_block(type, panel, b, row, bytes);
        return read<Block>(bytes);
    }
};

template <class Value, class Row, class Decode>
float float_chain(const Row& row, const float* x, size_t n_in, Decode decode) {
    float acc = 0;
    for (size_t i = 0; i < n_in; ++i) acc = std::fma(decode(row.template block<Value>(i)), x[i], acc);
    return acc;
}

// What a block of integers contributes: acc = fma(d * d_a, float(sum), acc), then, where there is a second term,
// acc = fma(m * d_a, float(m_sum), acc).
struct Terms {
    float d = 0;
    int32_t sum = 0;
    float m = 0;
    int32_t m_sum = 0;
    bool has_m = false;
    bool m_negative = false;  // the second factor is -float(m_sum)
};

int nibble(const uint8_t* qs, int i) { return i < 16 ? qs[i] & 15 : qs[i - 16] >> 4; }
int fifth_bit(const uint8_t (&qh)[4], int i) { return (qh[i / 8] >> (i % 8)) & 1; }

Terms terms(const quant::BlockQ4_0& w, const int8_t* a) {
    Terms t{.d = f16_to_f32(w.d)};
    for (int i = 0; i < 32; ++i) t.sum += (nibble(w.qs, i) - 8) * a[i];
    return t;
}

Terms terms(const quant::BlockQ4_1& w, const int8_t* a) {
    Terms t{.d = f16_to_f32(w.d), .m = f16_to_f32(w.m), .has_m = true};
    for (int i = 0; i < 32; ++i) t.sum += nibble(w.qs, i) * a[i], t.m_sum += a[i];
    return t;
}

Terms terms(const quant::BlockQ5_0& w, const int8_t* a) {
    Terms t{.d = f16_to_f32(w.d)};
    for (int i = 0; i < 32; ++i) t.sum += ((nibble(w.qs, i) | fifth_bit(w.qh, i) << 4) - 16) * a[i];
    return t;
}

Terms terms(const quant::BlockQ5_1& w, const int8_t* a) {
    Terms t{.d = f16_to_f32(w.d), .m = f16_to_f32(w.m), .has_m = true};
    for (int i = 0; i < 32; ++i) t.sum += (nibble(w.qs, i) | fifth_bit(w.qh, i) << 4) * a[i], t.m_sum += a[i];
    return t;
}

Terms terms(const quant::BlockQ8_0& w, const int8_t* a) {
    Terms t{.d = f16_to_f32(w.d)};
    for (int i = 0; i < 32; ++i) t.sum += w.qs[i] * a[i];
    return t;
}

Terms terms(const quant::BlockIQ4_NL& w, const int8_t* a) {
    Terms t{.d = f16_to_f32(w.d)};
    for (int i = 0; i < 32; ++i) t.sum += quant::kIq4Values[size_t(nibble(w.qs, i))] * a[i];
    return t;
}

Terms terms(const quant::BlockQ2_K& w, const int8_t* a) {
    Terms t{.d = f16_to_f32(w.d), .m = f16_to_f32(w.dmin), .has_m = true, .m_negative = true};
    for (int i = 0; i < 256; ++i) {
        const int q = (w.qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2)) & 3, scale = w.scales[i / 16];
        t.sum += (scale & 15) * q * a[i];
        t.m_sum += (scale >> 4) * a[i];
    }
    return t;
}

Terms terms(const quant::BlockQ3_K& w, const int8_t* a) {
    Terms t{.d = f16_to_f32(w.d)};
    for (int i = 0; i < 256; ++i) {
        const int low = (w.qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2)) & 3;
        const int q = low | ((w.hmask[i % 32] >> (i / 32)) & 1) << 2;
        t.sum += (quant::unpack_scale_q3_K(w.scales, i / 16) - 32) * (q - 4) * a[i];
    }
    return t;
}

int nibble_of_pairs(const uint8_t (&qs)[128], int i) {
    const int byte = qs[i / 64 * 32 + i % 32];
    return i % 64 < 32 ? byte & 15 : byte >> 4;
}

Terms terms(const quant::BlockQ4_K& w, const int8_t* a) {
    Terms t{.d = f16_to_f32(w.d), .m = f16_to_f32(w.dmin), .has_m = true, .m_negative = true};
    for (int i = 0; i < 256; ++i) {
        const quant::ScaleMin s = quant::unpack_scale_q4_K(w.scales, i / 32);
        t.sum += s.scale * nibble_of_pairs(w.qs, i) * a[i];
        t.m_sum += s.min * a[i];
    }
    return t;
}

Terms terms(const quant::BlockQ5_K& w, const int8_t* a) {
    Terms t{.d = f16_to_f32(w.d), .m = f16_to_f32(w.dmin), .has_m = true, .m_negative = true};
    for (int i = 0; i < 256; ++i) {
        const quant::ScaleMin s = quant::unpack_scale_q4_K(w.scales, i / 32);
        const int q = nibble_of_pairs(w.qs, i) | ((w.qh[i % 32] >> (i / 32)) & 1) << 4;
        t.sum += s.scale * q * a[i];
        t.m_sum += s.min * a[i];
    }
    return t;
}

Terms terms(const quant::BlockQ6_K& w, const int8_t* a) {
    Terms t{.d = f16_to_f32(w.d)};
    for (int i = 0; i < 256; ++i) {
        const int half = i / 128, plane = i % 128 / 32, l = i % 32;
        const int low = (w.ql[half * 64 + plane % 2 * 32 + l] >> (plane / 2 * 4)) & 15;
        const int q = low | ((w.qh[half * 32 + l] >> (plane * 2)) & 3) << 4;
        t.sum += w.scales[i / 16] * (q - 32) * a[i];
    }
    return t;
}

Terms terms(const quant::BlockIQ4_XS& w, const int8_t* a) {
    Terms t{.d = f16_to_f32(w.d)};
    for (int i = 0; i < 256; ++i) {
        const int byte = w.qs[i / 32 * 16 + i % 16], q = i % 32 < 16 ? byte & 15 : byte >> 4;
        t.sum += (quant::unpack_scale_iq4_xs(w, i / 32) - 32) * quant::kIq4Values[size_t(q)] * a[i];
    }
    return t;
}

template <class Block, size_t block, class Row>
float integer_chain(const Row& row, const Activations& x, size_t token) {
    const size_t n_block = x.n_in / block;
    float acc = 0;
    for (size_t b = 0; b < n_block; ++b) {
        const float d_a = x.d[token * n_block + b];
        const Terms t = terms(row.template block<Block>(b), x.q + token * x.n_in + b * block);
        acc = std::fma(t.d * d_a, float(t.sum), acc);
        if (t.has_m) acc = std::fma(t.m * d_a, t.m_negative ? -float(t.m_sum) : float(t.m_sum), acc);
    }
    return acc;
}

template <class Row>
float dot(gguf::TensorType type, const Row& row, const Activations& x, size_t token) {
    using enum gguf::TensorType;
    const float* floats = x.x + token * x.n_in;
    switch (type) {
        case F32:
            return float_chain<float>(row, floats, x.n_in, [](float w) { return w; });
        case F16:
            return float_chain<uint16_t>(row, floats, x.n_in, f16_to_f32);
        case BF16:
            return float_chain<uint16_t>(row, floats, x.n_in, bf16_to_f32);
        case Q4_0:
            return integer_chain<quant::BlockQ4_0, 32>(row, x, token);
        case Q4_1:
            return integer_chain<quant::BlockQ4_1, 32>(row, x, token);
        case Q5_0:
            return integer_chain<quant::BlockQ5_0, 32>(row, x, token);
        case Q5_1:
            return integer_chain<quant::BlockQ5_1, 32>(row, x, token);
        case Q8_0:
            return integer_chain<quant::BlockQ8_0, 32>(row, x, token);
        case IQ4_NL:
            return integer_chain<quant::BlockIQ4_NL, 32>(row, x, token);
        case Q2_K:
            return integer_chain<quant::BlockQ2_K, 256>(row, x, token);
        case Q3_K:
            return integer_chain<quant::BlockQ3_K, 256>(row, x, token);
        case Q4_K:
            return integer_chain<quant::BlockQ4_K, 256>(row, x, token);
        case Q5_K:
            return integer_chain<quant::BlockQ5_K, 256>(row, x, token);
        case Q6_K:
            return integer_chain<quant::BlockQ6_K, 256>(row, x, token);
        case IQ4_XS:
            return integer_chain<quant::BlockIQ4_XS, 256>(row, x, token);
        default:
            return 0;  // weight_index() refused it before
    }
}

}  // namespace

float dot_reference(gguf::TensorType type, const std::byte* row, const Activations& x, size_t token) {
    return dot(type, FileRow{row}, x, token);
}

float dot_compact_reference(gguf::TensorType type, const std::byte* panel, size_t row, const Activations& x,
                            size_t token) {
    return dot(type, CompactRow{type, panel, row}, x, token);
}

}  // namespace minfer::cpu
