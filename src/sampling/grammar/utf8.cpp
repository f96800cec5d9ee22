#include "sampling/grammar/utf8.h"

#include <algorithm>

#include "base/utf8.h"

namespace minfer::sampling::grammar {
namespace {

constexpr std::array<CodePoints, 5> kByLength = {
    {{0, 0x7F}, {0x80, 0x7FF}, {0x800, 0xD7FF}, {0xE000, 0xFFFF}, {0x10000, 0x10FFFF}}};

// Cuts [first, last], whose encodings have one length, where the bytes but the first of an end do not span their whole
// range: then each byte's range is free of the others.
void add(std::vector<ByteSequence>& out, uint32_t first, uint32_t last) {
    std::string low, high;
    append_utf8(low, first);
    append_utf8(high, last);
    for (size_t n = 1; n < low.size(); ++n) {  // n continuation bytes
        const uint32_t mask = (uint32_t(1) << (6 * n)) - 1;
        if ((first & ~mask) == (last & ~mask)) break;
        if ((first & mask) != 0) {
            add(out, first, first | mask);
            add(out, (first | mask) + 1, last);
            return;
        }
        if ((last & mask) != mask) {
            add(out, first, (last & ~mask) - 1);
            add(out, last & ~mask, last);
            return;
        }
    }
    ByteSequence s{};
    s.length = low.size();
    for (size_t i = 0; i < s.length; ++i) s.bytes[i] = {uint8_t(low[i]), uint8_t(high[i])};
    out.push_back(s);
}

}  // namespace

std::vector<ByteSequence> utf8_ranges(const std::vector<CodePoints>& ranges) {
    std::vector<ByteSequence> out;
    for (const CodePoints& r : ranges)
        for (const CodePoints& limits : kByLength) {
            const uint32_t first = std::max(r.first, limits.first), last = std::min(r.last, limits.last);
            if (first <= last) add(out, first, last);
        }
    return out;
}

}  // namespace minfer::sampling::grammar
