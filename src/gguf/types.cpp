#include "gguf/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/checked.h"
#include "base/error.h"

namespace minfer::gguf {
namespace {

struct Traits {
    TensorType type;
    std::string_view name;
    uint32_t block_size, type_size;
};

// Sizes are sums over the block's fields: scales as f16 (2 bytes), packed quants, sub-block scales.
constexpr Traits kTraits[] = {
    {TensorType::F32, "f32", 1, 4},
    {TensorType::F16, "f16", 1, 2},
    {TensorType::Q4_0, "q4_0", 32, 2 + 16},
    {TensorType::Q4_1, "q4_1", 32, 4 + 16},
    {TensorType::Q5_0, "q5_0", 32, 2 + 4 + 16},
    {TensorType::Q5_1, "q5_1", 32, 4 + 4 + 16},
    {TensorType::Q8_0, "q8_0", 32, 2 + 32},
    {TensorType::Q8_1, "q8_1", 32, 4 + 32},
    {TensorType::Q2_K, "q2_K", 256, 16 + 64 + 4},
    {TensorType::Q3_K, "q3_K", 256, 32 + 64 + 12 + 2},
    {TensorType::Q4_K, "q4_K", 256, 4 + 12 + 128},
    {TensorType::Q5_K, "q5_K", 256, 4 + 12 + 32 + 128},
    {TensorType::Q6_K, "q6_K", 256, 128 + 64 + 16 + 2},
    {TensorType::Q8_K, "q8_K", 256, 4 + 256 + 32},
    {TensorType::IQ2_XXS, "iq2_xxs", 256, 2 + 64},
    {TensorType::IQ2_XS, "iq2_xs", 256, 2 + 64 + 8},
    {TensorType::IQ3_XXS, "iq3_xxs", 256, 2 + 96},
    {TensorType::IQ1_S, "iq1_s", 256, 2 + 32 + 16},
    {TensorType::IQ4_NL, "iq4_nl", 32, 2 + 16},
    {TensorType::IQ3_S, "iq3_s", 256, 2 + 64 + 8 + 32 + 4},
    {TensorType::IQ2_S, "iq2_s", 256, 2 + 64 + 8 + 8},
    {TensorType::IQ4_XS, "iq4_xs", 256, 2 + 2 + 4 + 128},
    {TensorType::I8, "i8", 1, 1},
    {TensorType::I16, "i16", 1, 2},
    {TensorType::I32, "i32", 1, 4},
    {TensorType::I64, "i64", 1, 8},
    {TensorType::F64, "f64", 1, 8},
    {TensorType::IQ1_M, "iq1_m", 256, 32 + 16 + 8},
    {TensorType::BF16, "bf16", 1, 2},
    {TensorType::TQ1_0, "tq1_0", 256, 2 + 4 + 48},
    {TensorType::TQ2_0, "tq2_0", 256, 2 + 64},
    {TensorType::MXFP4, "mxfp4", 32, 1 + 16},
    {TensorType::NVFP4, "nvfp4", 64, 4 + 32},
    {TensorType::Q1_0, "q1_0", 128, 2 + 16},
    {TensorType::Q2_0, "q2_0", 64, 2 + 16},
};

constexpr auto kTypes = [] {
    std::array<TensorType, std::size(kTraits)> types{};
    for (size_t i = 0; i < types.size(); ++i) types[i] = kTraits[i].type;
    return types;
}();

const Traits* find_traits(uint32_t number) {
    const auto at = std::ranges::lower_bound(kTraits, number, {}, [](const Traits& t) { return uint32_t(t.type); });
    return at != std::end(kTraits) && uint32_t(at->type) == number ? at : nullptr;
}

const Traits& traits(TensorType type) {
    const Traits* found = find_traits(uint32_t(type));
    if (!found)
        throw UnsupportedError(fmt::format("there is no tensor type {}", describe_unknown_type(uint32_t(type))));
    return *found;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b,
                              [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

std::span<const TensorType> all_tensor_types() { return kTypes; }

std::optional<TensorType> tensor_type(uint32_t number) {
    const Traits* found = find_traits(number);
    if (!found) return std::nullopt;
    return found->type;
}

std::string describe_unknown_type(uint32_t number) {
    constexpr std::pair<uint32_t, std::string_view> kRemoved[] = {
        {4, "Q4_2"},      {5, "Q4_3"},        {31, "Q4_0_4_4"},   {32, "Q4_0_4_8"},
        {33, "Q4_0_8_8"}, {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"},
    };
    for (const auto& [removed, name] : kRemoved)
        if (number == removed) return fmt::format("{} ({}, removed from GGUF)", number, name);
    return fmt::format("{}", number);
}

std::string_view type_name(TensorType type) { return traits(type).name; }

std::optional<TensorType> type_from_name(std::string_view name) {
    for (const Traits& t : kTraits)
        if (equal_ignoring_case(t.name, name)) return t.type;
    return std::nullopt;
}

uint32_t block_size(TensorType type) { return traits(type).block_size; }

uint32_t type_size(TensorType type) { return traits(type).type_size; }

uint64_t row_bytes(TensorType type, uint64_t n) {
    const Traits& t = traits(type);
    if (n % t.block_size != 0)
        throw ShapeError(
            fmt::format("a row of {} values is not whole blocks of {}, which hold {}", n, t.name, t.block_size));
    const auto bytes = checked_mul(n / t.block_size, t.type_size);
    if (!bytes) throw ShapeError(fmt::format("a row of {} values of {} has more bytes than 64 bits count", n, t.name));
    return *bytes;
}

}  // namespace minfer::gguf
