// Characters as bytes, one at a time and in ranges.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/grammar/grammar.h"

namespace minfer::sampling::grammar {

void append_utf8(std::string& out, uint32_t c);

// `bytes` is one well-formed sequence.
uint32_t decode_utf8(std::string_view bytes);

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
