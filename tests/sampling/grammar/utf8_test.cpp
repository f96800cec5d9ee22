// Ranges of characters as ranges of bytes, against every character one by one.
#include "sampling/grammar/utf8.h"

#include <gtest/gtest.h>

#include <set>

#include "base/utf8.h"

namespace minfer::sampling::grammar {
namespace {

bool matches(const std::vector<ByteSequence>& sequences, const std::string& bytes) {
    size_t n = 0;
    for (const ByteSequence& s : sequences) {
        bool same = s.length == bytes.size();
        for (size_t i = 0; same && i < s.length; ++i)
            same = s.bytes[i].first <= uint8_t(bytes[i]) && uint8_t(bytes[i]) <= s.bytes[i].last;
        n += same;
    }
    EXPECT_LE(n, 1u) << "a character is in one sequence";
    return n > 0;
}

TEST(Utf8, EachCharacterIsItselfAgain) {
    for (uint32_t c = 1; c <= 0x10FFFF; ++c) {
        if (c == 0xD800) c = 0xE000;
        std::string bytes;
        append_utf8(bytes, c);
        ASSERT_EQ(decode_utf8(bytes), c);
    }
}

TEST(Utf8, RangesAreTheirCharacters) {
    const std::vector<std::vector<CodePoints>> cases = {
        {{'a', 'z'}},
        {{0, 0x10FFFF}},
        {{0x7F, 0x80}},
        {{0x7FE, 0x801}},
        {{0xD700, 0xE100}},
        {{0xFFFE, 0x10001}},
        {{0x3A5, 0x2F123}},
        {{0x41, 0x41}, {0xE9, 0xE9}, {0xFC, 0xFC}, {0x1F600, 0x1F64F}},
        complement({{'"', '"'}, {'\\', '\\'}, {0, 0x1F}}),
    };
    for (const std::vector<CodePoints>& ranges : cases) {
        const std::vector<ByteSequence> sequences = utf8_ranges(ranges);
        for (uint32_t c = 0; c <= 0x10FFFF; c += c < 0x11000 ? 1 : 61) {
            if (c == 0xD800) c = 0xE000;
            bool in = false;
            for (const CodePoints& r : ranges) in |= r.first <= c && c <= r.last;
            std::string bytes;
            append_utf8(bytes, c);
            ASSERT_EQ(matches(sequences, bytes), in) << c;
        }
        EXPECT_FALSE(matches(sequences, "\xED\xA0\x80")) << "a surrogate";
        EXPECT_FALSE(matches(sequences, "\xC0\x80"));
        EXPECT_FALSE(matches(sequences, "\xF4\x90\x80\x80"));
    }
}

TEST(Utf8, ComplementAndOrder) {
    EXPECT_EQ(normalized({{5, 9}, {1, 2}, {3, 4}, {8, 12}, {20, 20}}), (std::vector<CodePoints>{{1, 12}, {20, 20}}));
    EXPECT_EQ(complement({{1, 0x3F}, {0x100, 0x10FFFF}}), (std::vector<CodePoints>{{0x40, 0xFF}}));
    EXPECT_EQ(complement({}), (std::vector<CodePoints>{{1, 0xD7FF}, {0xE000, 0x10FFFF}}));
}

}  // namespace
}  // namespace minfer::sampling::grammar
