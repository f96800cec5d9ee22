// UTF-8 as the Unicode Standard defines it (table 3-7, "Well-Formed UTF-8 Byte Sequences"), and what to do with the
// rest.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace minfer::tokenizer {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct Utf8Sequence {
    enum class State { Whole, Invalid, Cut } state;  // Cut: a whole one may follow once more bytes are known
    // Whole: bytes of the character. Otherwise the bytes that begin a character and do not end it, at least one: what
    // one U+FFFD stands for in the W3C's and in Unicode's practice ("substitution of maximal subparts").
    size_t length;
};

// What stands at the start of `text`, which is not empty.
Utf8Sequence first_sequence(std::string_view text);

struct Utf8Scan {
    bool well_formed;
    bool below_u0300;  // every character is below U+0300, the first combining mark: normal form C as it stands
};
Utf8Scan scan_utf8(std::string_view text);

// `text` with every byte that is in no well-formed sequence replaced by a U+FFFD of its own, as llama.cpp reads text.
std::string replace_each_invalid_byte(std::string_view text);

// Turns a stream of bytes cut anywhere into well-formed pieces: the start of a character waits for its rest, and each
// maximal subpart of something ill-formed becomes one U+FFFD. However it is cut, the pieces add up to the same text.
class Utf8Stream {
  public:
    std::string push(std::string_view bytes);
    std::string flush();  // U+FFFD for a character that never got its rest
    bool waiting() const { return !pending_.empty(); }

  private:
    std::string pending_;
};

}  // namespace minfer::tokenizer
