#include "tokenizer/byte_alphabet.h"

#include <cstdint>

#include "base/utf8.h"

namespace minfer::tokenizer {
namespace {

constexpr size_t kAlphabetEnd = 0x144;  // U+0100 plus the 68 bytes that are not printable Latin-1

constexpr bool stands_for_itself(unsigned byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
    std::array<uint16_t, 256> of_byte;
    std::array<int16_t, kAlphabetEnd> of_character;  // -1: none
};

constexpr Alphabet make_alphabet() {
    Alphabet alphabet = {};
    alphabet.of_character.fill(-1);
    uint16_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const uint16_t character = stands_for_itself(byte) ? uint16_t(byte) : next++;
        alphabet.of_byte[byte] = character;
        alphabet.of_character[character] = int16_t(byte);
    }
    return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

const std::array<std::string, 256>& byte_spellings() {
    static const auto spellings = [] {
        std::array<std::string, 256> all;
        for (size_t byte = 0; byte < 256; ++byte) append_utf8(all[byte], kAlphabet.of_byte[byte]);
        return all;
    }();
    return spellings;
}

std::optional<std::string> bytes_of_spelling(std::string_view spelled) {
    std::string bytes;
    bytes.reserve(spelled.size());
    for (size_t i = 0; i < spelled.size(); ++i) {
        size_t character = uint8_t(spelled[i]);
        if (character >= 0x80) {  // the alphabet ends below U+0144: two bytes, C2..C5 and a continuation
            if (character < 0xC2 || character > 0xC5 || i + 1 == spelled.size()) return std::nullopt;
            const uint8_t low = uint8_t(spelled[++i]);
            if ((low & 0xC0) != 0x80) return std::nullopt;
            character = (character & 0x1F) << 6 | (low & 0x3F);
        }
        if (character >= kAlphabetEnd || kAlphabet.of_character[character] < 0) return std::nullopt;
        bytes += char(kAlphabet.of_character[character]);
    }
    return bytes;
}

}  // namespace minfer::tokenizer
