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

// `to[i] = convert(from[i])`, through memcpy, for the values may stand at any address.
template <typename From, typename To, typename Convert>
void convert_each(const void* from, void* to, size_t n, Convert convert) {
    for (size_t i = 0; i < n; ++i) {
        From x;
        std::memcpy(&x, static_cast<const char*>(from) + i * sizeof x, sizeof x);
        const To y = convert(x);
        std::memcpy(static_cast<char*>(to) + i * sizeof y, &y, sizeof y);
    }
}

void f16_to_f32_portable(const void* in, void* out, size_t n) { convert_each<uint16_t, float>(in, out, n, widen_f16); }
void bf16_to_f32_portable(const void* in, void* out, size_t n) {
    // As integers: a float on its way through a register could become quiet on some machines.
    convert_each<uint16_t, uint32_t>(in, out, n, [](uint16_t h) { return uint32_t(h) << 16; });
}
void f32_to_f16_portable(const void* in, void* out, size_t n) {
    convert_each<float, uint16_t>(in, out, n, narrow_to_f16);
}
void f32_to_bf16_portable(const void* in, void* out, size_t n) {
    convert_each<float, uint16_t>(in, out, n, [](float x) { return f32_to_bf16(x); });
}

constexpr ValueKernels kPortable = {"portable", f16_to_f32_portable, bf16_to_f32_portable, f32_to_f16_portable,
                                    f32_to_bf16_portable};
constexpr ValueKernels kF16c = {
    "f16c", [](const void* in, void* out, size_t n) { f16_to_f32_f16c(in, out, n, f16_to_f32_portable); },
    [](const void* in, void* out, size_t n) { bf16_to_f32_avx2(in, out, n, bf16_to_f32_portable); },
    [](const void* in, void* out, size_t n) { f32_to_f16_f16c(in, out, n, f32_to_f16_portable); },
    [](const void* in, void* out, size_t n) { f32_to_bf16_avx2(in, out, n, f32_to_bf16_portable); }};

// Values between two conversions: small enough for the first-level cache with the input and output beside it. A
// multiple of every block.
constexpr size_t kStep = 2048;

void widen(const ValueKernels& kernels, Dtype from, const std::byte* in, size_t n, void* out) {
    if (from == Dtype::F32)
        std::memcpy(out, in, n * sizeof(float));
    else
        (from == Dtype::F16 ? kernels.f16_to_f32 : kernels.bf16_to_f32)(in, out, n);
}

void narrow(const ValueKernels& kernels, const std::byte* in, size_t n, gguf::TensorType to, std::byte* out) {
    (to == gguf::TensorType::F16 ? kernels.f32_to_f16 : kernels.f32_to_bf16)(in, out, n);
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

bool is_same(Dtype from, gguf::TensorType to) {
    return (from == Dtype::F32 && to == gguf::TensorType::F32) || (from == Dtype::F16 && to == gguf::TensorType::F16);
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
    if (to == gguf::TensorType::F32) {
        widen(kernels, from, in.data(), n, out.data());
        return;
    }
    const bool blocks = to == gguf::TensorType::Q8_0;
    if (from == Dtype::F32 && !blocks) {
        narrow(kernels, in.data(), n, to, out.data());
        return;
    }
    alignas(64) std::array<float, kStep> floats;
    std::byte* at = out.data();
    for (size_t first = 0; first < n; first += kStep) {
        const size_t count = std::min(kStep, n - first);
        widen(kernels, from, in.data() + first * size, count, floats.data());
        const size_t bytes = size_t(gguf::row_bytes(to, count));
        if (blocks)
            quant::encode_rows(to, {floats.data(), count}, 1, int64_t(count), {at, bytes}, {});
        else
            narrow(kernels, std::as_bytes(std::span(floats)).data(), count, to, at);
        at += bytes;
    }
}

}  // namespace minfer::convert
