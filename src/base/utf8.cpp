#include "base/utf8.h"

#include <cstdint>

namespace minfer {

void append_utf8(std::string& out, char32_t c) {
    const auto tail = [&](int shift) { out += char(0x80 | (c >> shift & 0x3f)); };
    if (c < 0x80) {
        out += char(c);
    } else if (c < 0x800) {
        out += char(0xc0 | c >> 6);
        tail(0);
    } else if (c < 0x10000) {
        out += char(0xe0 | c >> 12);
        tail(6);
        tail(0);
    } else {
        out += char(0xf0 | c >> 18);
        tail(12);
        tail(6);
        tail(0);
    }
}

char32_t decode_utf8(std::string_view sequence) {
    const auto lead = uint8_t(sequence[0]);
    char32_t c = sequence.size() == 1 ? lead : lead & (0x7fu >> sequence.size());
    for (const char byte : sequence.substr(1)) c = c << 6 | (uint8_t(byte) & 0x3fu);
    return c;
}

}  // namespace minfer
