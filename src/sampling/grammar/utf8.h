// Ranges of characters as bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sampling/grammar/grammar.h"

namespace minfer::sampling::grammar {

struct ByteRange {
    uint8_t first, last;
    bool operator==(const ByteRange&) const = default;
};

// The encodings of some characters: any byte of the first range, then any of the second, ... None is ill-formed.
struct ByteSequence {
    std::array<ByteRange, 4> bytes;
    size_t length;
};

// Together the encodings of exactly these characters, without surrogates; each character in one of them.
std::vector<ByteSequence> utf8_ranges(const std::vector<CodePoints>& ranges);

}  // namespace minfer::sampling::grammar
