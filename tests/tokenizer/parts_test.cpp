// Merges and the matcher against their definitions, written out plainly; UTF-8 against the standard's table.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/merges.h"
#include "tokenizer/text_matcher.h"
#include "tokenizer/utf8.h"

namespace minfer::tokenizer {
namespace {

TEST(Merger, DoesWhatTheDefinitionSays) {
    std::mt19937 random(1);
    for (int round = 0; round < 2000; ++round) {
        // A random table over a few symbols, the tokens it makes taking part in later merges.
        std::vector<Merge> merges;
        std::map<std::pair<TokenId, TokenId>, std::pair<size_t, TokenId>> ranks;
        TokenId n_tokens = 3;
        for (size_t n = random() % 12; n > 0; --n) {
            const TokenId left = TokenId(random() % unsigned(n_tokens)), right = TokenId(random() % unsigned(n_tokens));
            ranks.try_emplace({left, right}, merges.size(), n_tokens);
            merges.push_back({left, right, n_tokens++});
        }
        std::vector<TokenId> symbols(random() % 40);
        for (TokenId& s : symbols) s = TokenId(random() % 3);

        std::vector<TokenId> expected = symbols;
        for (;;) {
            auto best = ranks.end();
            size_t where = 0;
            for (size_t i = 0; i + 1 < expected.size(); ++i) {
                const auto found = ranks.find({expected[i], expected[i + 1]});
                if (found == ranks.end() || (best != ranks.end() && found->second.first >= best->second.first))
                    continue;
                best = found;
                where = i;
            }
            if (best == ranks.end()) break;
            expected[where] = best->second.second;
            expected.erase(expected.begin() + std::ptrdiff_t(where) + 1);
        }

        const MergeTable table(merges);
        Merger merger(table);
        std::vector<TokenId> out;
        merger.merge(std::vector<TokenId>{0, 1, 2, 0, 1}, out);  // what a word leaves behind must not matter
        out.clear();
        merger.merge(symbols, out);
        ASSERT_EQ(out, expected) << round;
    }
}

TEST(TextMatcher, FindsTheLongestAtTheLeftmostPlace) {
    std::mt19937 random(2);
    const auto word = [&](size_t most) {
        std::string text;
        for (size_t n = 1 + random() % most; n > 0; --n) text += "ab\xff"[random() % 3];
        return text;
    };
    for (int round = 0; round < 3000; ++round) {
        std::vector<std::string> words(random() % 9);
        for (std::string& w : words) w = word(5);
        std::ranges::sort(words);
        words.erase(std::ranges::unique(words).begin(), words.end());
        std::vector<TextMatcher::Entry> entries;
        for (size_t i = 0; i < words.size(); ++i) entries.push_back({words[i], TokenId(i)});
        std::ranges::shuffle(entries, random);
        const TextMatcher matcher(entries);
        const std::string text = word(30);
        for (size_t from = 0; from <= text.size(); ++from) {
            size_t at = text.size(), longest = 0;
            for (size_t i = from; i < text.size() && longest == 0; ++i)
                for (const std::string& w : words)
                    if (text.compare(i, w.size(), w) == 0 && w.size() > longest) at = i, longest = w.size();
            const auto match = matcher.find(text, from);
            ASSERT_EQ(match.has_value(), longest > 0);
            if (!match) continue;
            ASSERT_EQ(match->begin, at);
            ASSERT_EQ(match->length, longest);
            ASSERT_EQ(words[size_t(match->id)], text.substr(at, longest));
        }
    }
    EXPECT_FALSE(TextMatcher().find("a", 0));
}

TEST(ByteAlphabet, IsABijectionAndKnowsItsLandmarks) {
    EXPECT_EQ(byte_spellings()[' '], "Ġ");
    EXPECT_EQ(byte_spellings()['\n'], "Ċ");
    EXPECT_EQ(byte_spellings()['A'], "A");
    EXPECT_EQ(byte_spellings()[0xE9], "é");
    EXPECT_EQ(byte_spellings()[0xAD], "\u0143");
    std::string all, spelled;
    for (size_t byte = 0; byte < 256; ++byte) {
        all += char(byte);
        spelled += byte_spellings()[byte];
    }
    EXPECT_EQ(bytes_of_spelling(spelled), all);
    for (const std::string_view outside : {" ", "\n", "\u0144", "\u00ad", "\u4e2d", "\xC4", "\xFF", "\xC4g", "a "})
        EXPECT_EQ(bytes_of_spelling(outside), std::nullopt) << outside;
}

// Every code point is whole, and each of its prefixes is cut.
TEST(Utf8, KnowsEveryCharacter) {
    using State = Utf8Sequence::State;
    for (uint32_t c = 0; c < 0x110000; ++c) {
        std::string text;
        if (c < 0x80)
            text = {char(c)};
        else if (c < 0x800)
            text = {char(0xC0 | c >> 6), char(0x80 | (c & 63))};
        else if (c < 0x10000)
            text = {char(0xE0 | c >> 12), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
        else
            text = {char(0xF0 | c >> 18), char(0x80 | (c >> 12 & 63)), char(0x80 | (c >> 6 & 63)),
                    char(0x80 | (c & 63))};
        const auto first = first_sequence(text + "x");
        if (c >= 0xD800 && c < 0xE000) {
            ASSERT_EQ(first.state, State::Invalid) << c;
            ASSERT_EQ(first.length, 1u) << c;
            continue;
        }
        ASSERT_EQ(first.state, State::Whole) << c;
        ASSERT_EQ(first.length, text.size()) << c;
        ASSERT_EQ(scan_utf8("abcdefgh" + text).below_u0300, c < 0x300) << c;
        if (text.size() > 1) {
            const auto cut = first_sequence(text.substr(0, text.size() - 1));
            ASSERT_EQ(cut.state, State::Cut) << c;
            ASSERT_EQ(cut.length, text.size() - 1) << c;
        }
    }
}

// The examples of the Unicode Standard, section 3.9, tables 3-8 to 3-11.
TEST(Utf8, ReplacesMaximalSubparts) {
    const auto lossy = [](std::string_view bytes) {
        Utf8Stream stream;
        std::string out = stream.push(bytes);
        out += stream.flush();
        std::string byte_by_byte;
        for (const char byte : bytes) byte_by_byte += stream.push({&byte, 1});
        EXPECT_EQ(byte_by_byte + stream.flush(), out);
        EXPECT_EQ(scan_utf8(bytes).well_formed, out == bytes);
        return out;
    };
    const std::string r = "\uFFFD";
    EXPECT_EQ(lossy("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), r + r + r + r + r + r + r + r + "A");
    EXPECT_EQ(lossy("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), r + r + r + r + r + r + r + r + "A");
    EXPECT_EQ(lossy("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"), r + r + r + r + r + "A" + r + r + "B");
    EXPECT_EQ(lossy("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), r + r + r + r + "A");
    EXPECT_EQ(lossy("ab\u20ac"), "ab\u20ac");
}

}  // namespace
}  // namespace minfer::tokenizer
