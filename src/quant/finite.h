// Finding what no weight may be: NaN and infinity, as a value or as the scale of a block.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "gguf/types.h"

namespace minfer::quant {

struct NonFinite {
    size_t index;           // of the value, or of the block's first value, counted from the start of the bytes
    std::string_view what;  // "NaN", "infinity", "a NaN scale", "an infinite scale"
};

// The first of them in `bytes`, whole blocks of `type`. Integer types have none; IQ1_M, NVFP4 and MXFP4, whose scales
// are no half floats, are looked at only where their encoding has a NaN.
std::optional<NonFinite> find_non_finite(gguf::TensorType type, std::span<const std::byte> bytes);

}  // namespace minfer::quant
