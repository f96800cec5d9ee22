#include "convert/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "base/half.h"
#include "convert/values_f16c.h"
#include "quant/encode.h"

namespace minfer::convert {
namespace {

// numpy's conversions keep a signalling NaN as it is, where half.h, like the hardware, makes it quiet.
float widen_f16(uint16_t h) {
    if ((h & 0x7c00u) != 0x7c00u) return f16_to_f32(h);
    return std::bit_cast<float>((uint32_t(h & 0x8000u) << 16) | 0x7f800000u | (uint32_t(h & 0x3ffu) << 13));
}

uint16_t narrow_to_f16(float x) {
    const uint32_t bits = std::bit_cast<uint32_t>(x);
    if ((bits & 0x7fffffffu) <= 0x7f800000u) return f32_to_f16(x);
    const uint32_t payload = (bits >> 13) & 0x3ffu;  // one that would vanish becomes 1, for it must not become infinity
    return uint16_t(((bits >> 16) & 0x8000u) | 0x7c00u | (payload == 0 ? 1u : payload));
}

void f16_to_f32_portable(const uint16_t* in, float* out, size_t n) {
    for (size_t i = 0; i < n; ++i) out[i] = widen_f16(in[i]);
}
void bf16_to_f32_portable(const uint16_t* in, float* out, size_t n) {
    // As integers: a float on its way through a register could become quiet on some machines.
    for (size_t i = 0; i < n; ++i) {
        const uint32_t bits = uint32_t(in[i]) << 16;
        std::memcpy(out + i, &bits, sizeof bits);
    }
}
void f32_to_f16_portable(const float* in, uint16_t* out, size_t n) {
    for (size_t i = 0; i < n; ++i) out[i] = narrow_to_f16(in[i]);
}
void f32_to_bf16_portable(const float* in, uint16_t* out, size_t n) {
    for (size_t i = 0; i < n; ++i) out[i] = f32_to_bf16(in[i]);
}

constexpr ValueKernels kPortable = {"portable", f16_to_f32_portable, bf16_to_f32_portable, f32_to_f16_portable,
                                    f32_to_bf16_portable};
constexpr ValueKernels kF16c = {
    "f16c", [](const uint16_t* in, float* out, size_t n) { f16_to_f32_f16c(in, out, n, f16_to_f32_portable); },
    bf16_to_f32_avx2,
    [](const float* in, uint16_t* out, size_t n) { f32_to_f16_f16c(in, out, n, f32_to_f16_portable); },
    [](const float* in, uint16_t* out, size_t n) { f32_to_bf16_avx2(in, out, n, f32_to_bf16_portable); }};

// Values between two conversions: small enough for the first-level cache with the input and output beside it.
constexpr size_t kStep = 2048;

bool is_same(Dtype from, gguf::TensorType to) {
    // bf16 to bf16 is no copy: the reference widens and rounds, which makes NaNs quiet.
    return (from == Dtype::F32 && to == gguf::TensorType::F32) || (from == Dtype::F16 && to == gguf::TensorType::F16);
}

// Values `first` to `first + n` of `in`, which may stand at any address, as floats.
void widen(const ValueKernels& kernels, Dtype from, std::span<const std::byte> in, size_t first, size_t n, float* out) {
    std::array<uint16_t, kStep> halves;
    const std::byte* at = in.data() + first * value_size(from);
    if (from == Dtype::F32) {
        std::memcpy(out, at, n * sizeof(float));
        return;
    }
    std::memcpy(halves.data(), at, n * sizeof(uint16_t));
    (from == Dtype::F16 ? kernels.f16_to_f32 : kernels.bf16_to_f32)(halves.data(), out, n);
}

}  // namespace

const ValueKernels& portable_value_kernels() { return kPortable; }

const ValueKernels* f16c_value_kernels(const CpuFeatures& cpu) {
    return built_with_f16c() && cpu.avx2 && cpu.f16c ? &kF16c : nullptr;
}

const ValueKernels& choose_value_kernels(const CpuFeatures& cpu) {
    const ValueKernels* fast = f16c_value_kernels(cpu);
    return fast ? *fast : kPortable;
}

size_t value_size(Dtype dtype) {
    switch (dtype) {
        case Dtype::F32:
            return 4;
        case Dtype::F16:
        case Dtype::BF16:
            return 2;
        case Dtype::Other:
            break;
    }
    return 0;
}

void convert_values(const ValueKernels& kernels, Dtype from, std::span<const std::byte> in, gguf::TensorType to,
                    std::span<std::byte> out) {
    const size_t size = value_size(from);
    const size_t n = size ? in.size() / size : 0;
    if (size == 0 || in.size() % size != 0 || gguf::row_bytes(to, n) != out.size())
        throw ShapeError(fmt::format("{} bytes do not become {} bytes of {}", in.size(), out.size(), type_name(to)));
    if (is_same(from, to)) {
        std::ranges::copy(in, out.begin());
        return;
    }
    alignas(64) std::array<float, kStep> floats;
    alignas(64) std::array<uint16_t, kStep> halves;
    std::byte* at = out.data();
    for (size_t first = 0; first < n; first += kStep) {
        const size_t count = std::min(kStep, n - first);
        widen(kernels, from, in, first, count, floats.data());
        const size_t bytes = size_t(gguf::row_bytes(to, count));
        if (to == gguf::TensorType::F32) {
            std::memcpy(at, floats.data(), bytes);
        } else if (to == gguf::TensorType::Q8_0) {
            quant::encode_rows(to, {floats.data(), count}, 1, int64_t(count), {at, bytes}, {});
        } else {
            (to == gguf::TensorType::F16 ? kernels.f32_to_f16 : kernels.f32_to_bf16)(floats.data(), halves.data(),
                                                                                     count);
            std::memcpy(at, halves.data(), bytes);
        }
        at += bytes;
    }
}

}  // namespace minfer::convert
