// GPT-2's byte alphabet: vocabularies of byte-level BPE spell each byte as one printable character, so that tokens are
// text. Source: Radford et al. 2019, encoder.py, bytes_to_unicode.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace minfer::tokenizer {

// How a byte is spelled: printable Latin-1 characters stand for themselves, and the other bytes, in ascending order,
// are U+0100, U+0101, ... A space is "Ġ" (U+0120), a newline "Ċ" (U+010A).
const std::array<std::string, 256>& byte_spellings();

// The bytes that `spelled` stands for, or nothing where a character is outside the alphabet.
std::optional<std::string> bytes_of_spelling(std::string_view spelled);

}  // namespace minfer::tokenizer
