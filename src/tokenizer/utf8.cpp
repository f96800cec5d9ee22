#include "tokenizer/utf8.h"

#include <cstdint>
#include <cstring>

namespace minfer::tokenizer {

Utf8Sequence first_sequence(std::string_view text) {
    using State = Utf8Sequence::State;
    const auto byte = [&](size_t i) { return uint8_t(text[i]); };
    const uint8_t lead = byte(0);
    if (lead < 0x80) return {State::Whole, 1};
    if (lead < 0xC2 || lead > 0xF4) return {State::Invalid, 1};
    const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    // The second byte's range excludes overlong forms (E0, F0), surrogates (ED) and what is past U+10FFFF (F4).
    uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    for (size_t i = 1; i < length; ++i) {
        if (i == text.size()) return {State::Cut, i};
        if (byte(i) < low || byte(i) > high) return {State::Invalid, i};
        low = 0x80;
        high = 0xBF;
    }
    return {State::Whole, length};
}

// Bytes at the start of `text` that are ASCII, by eights.
static size_t ascii_prefix(std::string_view text) {
    size_t i = 0;
    for (; i + 8 <= text.size(); i += 8) {
        uint64_t eight;
        std::memcpy(&eight, text.data() + i, 8);
        if (eight & 0x8080808080808080u) break;
    }
    while (i < text.size() && uint8_t(text[i]) < 0x80) ++i;
    return i;
}

Utf8Scan scan_utf8(std::string_view text) {
    Utf8Scan scan = {true, true};
    for (;;) {
        text.remove_prefix(ascii_prefix(text));
        if (text.empty()) return scan;
        if (uint8_t(text[0]) >= 0xCC) scan.below_u0300 = false;  // U+0300 is CC 80
        const Utf8Sequence first = first_sequence(text);
        if (first.state != Utf8Sequence::State::Whole) scan.well_formed = false;
        text.remove_prefix(first.length);
    }
}

std::string replace_each_invalid_byte(std::string_view text) {
    std::string out;
    out.reserve(text.size() + 16);
    while (!text.empty()) {
        const Utf8Sequence first = first_sequence(text);
        if (first.state == Utf8Sequence::State::Whole) {
            out += text.substr(0, first.length);
            text.remove_prefix(first.length);
        } else {
            out += kReplacement;
            text.remove_prefix(1);
        }
    }
    return out;
}

std::string Utf8Stream::push(std::string_view bytes) {
    pending_ += bytes;
    std::string out;
    std::string_view rest = pending_;
    while (!rest.empty()) {
        const Utf8Sequence first = first_sequence(rest);
        if (first.state == Utf8Sequence::State::Cut) break;
        out += first.state == Utf8Sequence::State::Whole ? rest.substr(0, first.length) : kReplacement;
        rest.remove_prefix(first.length);
    }
    pending_.erase(0, pending_.size() - rest.size());
    return out;
}

std::string Utf8Stream::flush() {
    const bool cut = !pending_.empty();
    pending_.clear();
    return cut ? std::string(kReplacement) : std::string();
}

}  // namespace minfer::tokenizer
