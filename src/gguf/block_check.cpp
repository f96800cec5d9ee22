#include "gguf/block_check.h"

#include <algorithm>
#include <cstring>

namespace minfer::gguf {
namespace {

// How a number is written. IQ1_M spreads one f16 over the high four bits of its four 16-bit words of sub-block scales;
// E8M0 is a power of two in a byte, of which 255 is NaN.
enum class Number { F16, BF16, F32, F64, E8M0, SpreadF16 };

// One number of a block: where it stands and how it is written. Offsets: ggml/src/ggml-common.h of llama.cpp.
struct Scale {
    size_t offset;
    Number number;
};

std::span<const Scale> scales_of(TensorType type) {
    static constexpr Scale kF32[] = {{0, Number::F32}}, kF64[] = {{0, Number::F64}}, kBf16[] = {{0, Number::BF16}};
    static constexpr Scale kFirst[] = {{0, Number::F16}}, kFirstTwo[] = {{0, Number::F16}, {2, Number::F16}};
    static constexpr Scale kQ2K[] = {{80, Number::F16}, {82, Number::F16}}, kQ3K[] = {{108, Number::F16}};
    static constexpr Scale kQ6K[] = {{208, Number::F16}}, kIq1M[] = {{48, Number::SpreadF16}};
    static constexpr Scale kTq1[] = {{52, Number::F16}}, kTq2[] = {{64, Number::F16}}, kMxfp4[] = {{0, Number::E8M0}};
    switch (type) {
        case TensorType::F32:
        case TensorType::Q8_K:
            return kF32;
        case TensorType::F64:
            return kF64;
        case TensorType::BF16:
            return kBf16;
        case TensorType::F16:
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
            return kFirst;
        case TensorType::Q4_1:
        case TensorType::Q5_1:
        case TensorType::Q8_1:
        case TensorType::Q4_K:
        case TensorType::Q5_K:
            return kFirstTwo;
        case TensorType::Q2_K:
            return kQ2K;
        case TensorType::Q3_K:
            return kQ3K;
        case TensorType::Q6_K:
            return kQ6K;
        case TensorType::IQ1_M:
            return kIq1M;
        case TensorType::TQ1_0:
            return kTq1;
        case TensorType::TQ2_0:
            return kTq2;
        case TensorType::MXFP4:
            return kMxfp4;
        case TensorType::NVFP4:
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

enum class Kind { Finite, Infinite, NaN };

// All ones in the exponent mean infinity, or NaN where the fraction is not zero.
template <typename Word>
Kind kind_of(Word bits, Word exponent) {
    const Word magnitude = bits & Word(~(Word(1) << (sizeof(Word) * 8 - 1)));
    return magnitude < exponent ? Kind::Finite : magnitude == exponent ? Kind::Infinite : Kind::NaN;
}

constexpr uint16_t kExponentF16 = 0x7c00, kExponentBf16 = 0x7f80;
constexpr uint32_t kExponentF32 = 0x7f800000;
constexpr uint64_t kExponentF64 = 0x7ff0000000000000;

Kind kind_at(Number number, const std::byte* at) {
    switch (number) {
        case Number::F16:
            return kind_of(load<uint16_t>(at), kExponentF16);
        case Number::BF16:
            return kind_of(load<uint16_t>(at), kExponentBf16);
        case Number::F32:
            return kind_of(load<uint32_t>(at), kExponentF32);
        case Number::F64:
            return kind_of(load<uint64_t>(at), kExponentF64);
        case Number::E8M0:
            return *at == std::byte{0xff} ? Kind::NaN : Kind::Finite;
        case Number::SpreadF16: {
            uint16_t bits = 0;
            for (size_t i = 0; i < 4; ++i) bits |= uint16_t((load<uint16_t>(at + 2 * i) >> 12) << (4 * i));
            return kind_of(bits, kExponentF16);
        }
    }
    return Kind::NaN;
}

// Calls seen(block, kind) for every number that is not finite, until it says false.
template <typename Seen>
void each_fault(TensorType type, std::span<const std::byte> bytes, const Seen& seen) {
    const std::span<const Scale> scales = scales_of(type);
    const size_t size = type_size(type), n = bytes.size() / size;
    for (size_t block = 0; block < n; ++block)
        for (const Scale& scale : scales) {
            const Kind kind = kind_at(scale.number, &bytes[block * size + scale.offset]);
            if (kind != Kind::Finite && !seen(block, kind)) return;
        }
}

// How many of the values come before the first 256 that have one that is not finite among them.
template <typename Word>
size_t finite_values(std::span<const std::byte> bytes, Word exponent) {
    constexpr size_t kStride = 256;  // looked at together, without a branch a value
    const size_t n = bytes.size() / sizeof(Word);
    for (size_t at = 0; at < n; at += kStride) {
        const size_t end = std::min(n, at + kStride);
        bool any = false;
        for (size_t i = at; i < end; ++i) any |= (load<Word>(&bytes[i * sizeof(Word)]) & exponent) == exponent;
        if (any) return at;
    }
    return n;
}

// How many blocks at the start are known to have no fault: an answer that is quick where there are many.
size_t quickly_passed(TensorType type, std::span<const std::byte> bytes) {
    switch (type) {
        case TensorType::F32:
            return finite_values(bytes, kExponentF32);
        case TensorType::F16:
            return finite_values(bytes, kExponentF16);
        case TensorType::BF16:
            return finite_values(bytes, kExponentBf16);
        case TensorType::F64:
            return finite_values(bytes, kExponentF64);
        default:
            return 0;
    }
}

}  // namespace

bool is_float(TensorType type) {
    return type == TensorType::F32 || type == TensorType::F16 || type == TensorType::BF16 || type == TensorType::F64;
}

std::optional<NonFinite> find_non_finite(TensorType type, std::span<const std::byte> bytes) {
    const size_t passed = quickly_passed(type, bytes);
    std::optional<NonFinite> found;
    each_fault(type, bytes.subspan(passed * type_size(type)), [&](size_t block, Kind kind) {
        const bool nan = kind == Kind::NaN, plain = is_float(type);
        found = NonFinite{(passed + block) * block_size(type),
                          plain ? (nan ? "NaN" : "infinity") : (nan ? "a NaN scale" : "an infinite scale")};
        return false;
    });
    return found;
}

void BlockChecker::check(std::span<const std::byte> blocks) {
    const size_t passed = quickly_passed(type_, blocks);
    each_fault(type_, blocks.subspan(passed * type_size(type_)), [&](size_t block, Kind kind) {
        const bool nan = kind == Kind::NaN;
        ++(nan ? findings_.n_nan : findings_.n_infinite);
        auto& first = nan ? findings_.first_nan : findings_.first_infinite;
        if (!first) first = n_blocks_ + passed + block;
        return true;
    });
    n_blocks_ += blocks.size() / type_size(type_);
}

}  // namespace minfer::gguf
