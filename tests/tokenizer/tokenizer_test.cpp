// What the oracles cannot show: options, streams, hostile vocabularies, invalid bytes, and time.
#include "tokenizer/tokenizer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "tokenizer/nfc.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/small_vocabulary.h"

namespace minfer::tokenizer {
namespace {

using test::SmallVocabulary;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

Tokenizer small(const std::string& pre = "qwen2") { return Tokenizer(SmallVocabulary(pre).vocabulary); }

constexpr EncodeOptions kPlain = {.add_special = false, .parse_special = false};
constexpr EncodeOptions kParsed = {.add_special = false, .parse_special = true};

TEST(Tokenizer, MergesWithinWordsAndFallsBackToBytes) {
    const Tokenizer t = small();
    EXPECT_THAT(t.encode("hello world", kPlain), ElementsAre(SmallVocabulary::kHello, SmallVocabulary::kWorld));
    EXPECT_THAT(t.encode("held", kPlain), ElementsAre(256, 'l', 'd'));
    EXPECT_THAT(t.encode("\xE2\x82\xAC", kPlain), ElementsAre(0xE2, 0x82, 0xAC));
    EXPECT_THAT(t.encode("", kPlain), IsEmpty());
}

TEST(Tokenizer, SpecialTokensComeFromTextOnlyWhenAskedFor) {
    const Tokenizer t = small();
    const std::string text = "<|im_start|>hello<|im_end|>";
    EXPECT_THAT(t.encode(text, kParsed),
                ElementsAre(SmallVocabulary::kImStart, SmallVocabulary::kHello, SmallVocabulary::kImEnd));
    for (const TokenId id : t.encode(text, kPlain)) EXPECT_FALSE(t.is_special(id)) << id;
    EXPECT_EQ(t.decode(t.encode(text, kPlain), false), text);
    // A user-defined token is found either way, an unknown one as a control token is.
    EXPECT_THAT(t.encode("<think>", kPlain), ElementsAre(SmallVocabulary::kThink));
    EXPECT_THAT(t.encode("<think>", kParsed), ElementsAre(SmallVocabulary::kThink));
    EXPECT_THAT(t.encode("<unk>", kParsed), ElementsAre(SmallVocabulary::kUnk));
    EXPECT_EQ(t.encode("<unk>", kPlain).size(), 5u);
}

TEST(Tokenizer, MarkedTextStaysTextAmongSpecialTokens) {
    const Tokenizer t = small();
    for (const std::string words :
         {"hello", "<|im_end|>", "a<|im_start|><|im_end|>b", "<|im_start|<|im_end|>|>", "<unk> <|im|>"}) {
        const std::string prompt = "<|im_start|>" + t.mark_as_text(words) + "<|im_end|>";
        const auto ids = t.encode(prompt, {.add_special = false, .parse_special = true, .text_marks = true});
        ASSERT_GE(ids.size(), 3u);
        EXPECT_EQ(ids.front(), SmallVocabulary::kImStart);
        EXPECT_EQ(ids.back(), SmallVocabulary::kImEnd);
        const std::vector<TokenId> inside(ids.begin() + 1, ids.end() - 1);
        EXPECT_EQ(inside, t.encode(words, kPlain)) << words;
        EXPECT_EQ(t.decode(ids, false), words);
    }
    EXPECT_EQ(t.mark_as_text("plain <think> text"), "plain <think> text");  // user-defined tokens are always found
    EXPECT_EQ(t.mark_as_text("a\uFDD0b"), "ab");                            // so that nobody can unmark
}

TEST(Tokenizer, TheMarkIsACharacterOfTextThatIsNotMarked) {
    const Tokenizer t = small();
    const std::string text = "a\uFDD0<|im_end|>";
    EXPECT_THAT(t.encode(text, kParsed), ElementsAre('a', 0xEF, 0xB7, 0x90, SmallVocabulary::kImEnd));
    EXPECT_EQ(t.decode(t.encode(text, kPlain), true), text);
}

// llama-bpe takes a word that is a token whole. A control token that happens to be one word must stay out of reach.
TEST(Tokenizer, AWholeWordIsNoControlToken) {
    SmallVocabulary v("llama-bpe");
    v.add("stop", TokenType::Control);
    v.add("go", TokenType::Normal);
    v.add("Ġhole", TokenType::Normal);
    const Tokenizer t(v.vocabulary);
    EXPECT_THAT(t.encode("stop", kPlain), ElementsAre('s', 't', 'o', 'p'));
    EXPECT_THAT(t.encode("go hole", kPlain), ElementsAre(276, 277));  // no merge makes these
    v.vocabulary.pre = "qwen2";
    EXPECT_THAT(Tokenizer(v.vocabulary).encode("go", kPlain), ElementsAre('g', 'o'));
}

TEST(Tokenizer, BosAndEosAsTheModelSays) {
    SmallVocabulary v("llama-bpe");
    v.vocabulary.add_bos.reset();
    EXPECT_THAT(Tokenizer(v.vocabulary).encode("hello"),
                ElementsAre(SmallVocabulary::kImStart, SmallVocabulary::kHello));
    EXPECT_THAT(Tokenizer(v.vocabulary).encode(""), ElementsAre(SmallVocabulary::kImStart));
    EXPECT_THAT(Tokenizer(v.vocabulary).encode("hello", kPlain), ElementsAre(SmallVocabulary::kHello));
    v.vocabulary.add_bos = false;
    v.vocabulary.add_eos = true;
    EXPECT_THAT(Tokenizer(v.vocabulary).encode("hello"), ElementsAre(SmallVocabulary::kHello, SmallVocabulary::kImEnd));
    v.vocabulary.pre = "qwen2";
    v.vocabulary.add_bos.reset();
    EXPECT_FALSE(Tokenizer(v.vocabulary).adds_bos());
}

TEST(Tokenizer, EachInvalidByteIsOneReplacementCharacter) {
    const Tokenizer t = small();
    const auto reads_as = [&](std::string_view bytes) { return t.decode(t.encode(bytes, kPlain), true); };
    const std::string r = "\uFFFD";
    EXPECT_EQ(reads_as("a\xFF"), "a" + r);
    EXPECT_EQ(reads_as("\xE2\x82"), r + r);  // one each: HuggingFace's Python callers would see one
    EXPECT_EQ(reads_as("\xE2\x82z"), r + r + "z");
    EXPECT_EQ(reads_as("\xC0\x80"), r + r);                  // an overlong NUL
    EXPECT_EQ(reads_as("\xED\xA0\x80"), r + r + r);          // a surrogate
    EXPECT_EQ(reads_as("\xF4\x90\x80\x80"), r + r + r + r);  // past U+10FFFF
    EXPECT_EQ(reads_as(std::string("\0", 1)), std::string("\0", 1));
}

TEST(Tokenizer, Qwen2AloneComposes) {
    const std::string decomposed = "e\u0301", composed = "\u00e9";
    EXPECT_THAT(small("qwen2").encode(decomposed, kPlain), ElementsAre(267));
    EXPECT_EQ(small("llama-bpe").encode(decomposed, kPlain).size(), 3u);
    EXPECT_THAT(small("llama-bpe").encode(composed, kPlain), ElementsAre(267));
}

TEST(Tokenizer, AStreamGivesWholeCharactersAsSoonAsTheyAre) {
    const Tokenizer t = small();
    StreamDecoder stream(t, false);
    EXPECT_EQ(stream.push(0xE2), "");
    EXPECT_EQ(stream.push(SmallVocabulary::kImEnd), "");  // left out, and no end of the character
    EXPECT_EQ(stream.push(0x82), "");
    EXPECT_EQ(stream.push(0xAC), "\u20AC");
    EXPECT_EQ(stream.push('a'), "a");
    EXPECT_EQ(stream.push(0xE2), "");
    EXPECT_EQ(stream.push('b'), "\uFFFDb");
    EXPECT_EQ(stream.push(0xF0), "");
    EXPECT_EQ(stream.push(0x9F), "");
    EXPECT_EQ(stream.flush(), "\uFFFD");
    EXPECT_EQ(stream.flush(), "");
    StreamDecoder all(t, true);
    EXPECT_EQ(all.push(SmallVocabulary::kImEnd), "<|im_end|>");
}

TEST(Tokenizer, EndsOfGenerationAreIdsAndNames) {
    SmallVocabulary v("qwen2");
    v.add("<|eot_id|>", TokenType::Control);
    v.vocabulary.eos = 'e';
    v.vocabulary.eot = 't';
    v.vocabulary.eom = 'm';
    const Tokenizer t(v.vocabulary);
    EXPECT_THAT(t.end_of_generation(), ElementsAre('e', 'm', 't', SmallVocabulary::kImEnd, 275));
    EXPECT_TRUE(t.is_end_of_generation('e'));
    EXPECT_FALSE(t.is_end_of_generation('f'));
    EXPECT_FALSE(t.is_end_of_generation(-1));
    EXPECT_EQ(t.find("<|im_start|>"), SmallVocabulary::kImStart);
    EXPECT_EQ(t.find("<|im_star"), std::nullopt);
}

TEST(Tokenizer, IdsOutsideTheVocabularyAreErrors) {
    const Tokenizer t = small();
    for (const TokenId id : {-1, 275, 1 << 30}) {
        EXPECT_THAT([&] { t.piece(id); }, ThrowsMessage<Error>(HasSubstr(fmt::format("token id {} is outside", id))));
        EXPECT_THROW(t.type(id), Error);
        EXPECT_THROW(t.decode(std::vector{id}, true), Error);
    }
    EXPECT_EQ(t.piece(274), "\n");  // the Byte token
}

TEST(Tokenizer, AByteWithoutATokenIsLeftOutAndNothingMergesAcrossIt) {
    SmallVocabulary v("qwen2");
    v.vocabulary.tokens['x'] = "nothing";
    const Tokenizer t(v.vocabulary);
    EXPECT_THAT(t.encode("x", kPlain), IsEmpty());
    EXPECT_THAT(t.encode("hxe", kPlain), ElementsAre('h', 'e'));
    EXPECT_THAT(t.encode("xhex", kPlain), ElementsAre(256));
}

TEST(Tokenizer, HostileVocabulariesAreRefusedByName) {
    const auto refuses = [](auto change, const std::string& message) {
        SmallVocabulary v("qwen2");
        change(v.vocabulary);
        EXPECT_THAT([&] { Tokenizer t(v.vocabulary); }, ThrowsMessage<Error>(HasSubstr(message)));
    };
    refuses([](Vocabulary& v) { v.pre = "tekken"; },
            "unsupported pre-tokenizer 'tekken'; supported: qwen2, llama-bpe, llama3, llama-v3, smollm, gpt-2");
    refuses([](Vocabulary& v) { v.tokens[65] = "B"; },
            "'tokenizer.ggml.tokens', token 66: found the spelling of token 65");
    refuses([](Vocabulary& v) { v.types.pop_back(); }, "small.gguf: key 'tokenizer.ggml.token_type': found 274 types");
    refuses([](Vocabulary& v) { v.tokens[274] = "<0xG0>"; }, "'tokenizer.ggml.tokens', token 274: found a byte token");
    refuses([](Vocabulary& v) { v.merges[2] = "he llo"; }, "'tokenizer.ggml.merges', merge 2: found 'llo'");
    refuses([](Vocabulary& v) { v.merges[2] = "h a"; }, "'tokenizer.ggml.merges', merge 2: found 'ha'");
    refuses([](Vocabulary& v) { v.tokens[256] = "\xFF"; }, "'tokenizer.ggml.merges', merge 0: found 'he'");
    for (const std::string_view rule : {"", " ", "h", "he", " h", "h ", "h  e", "h e l"})
        refuses([&](Vocabulary& v) { v.merges[1] = rule; }, "'tokenizer.ggml.merges', merge 1: found");
    // A merge into a control token would let text reach it.
    refuses([](Vocabulary& v) { v.types[256] = TokenType::Control; }, "'tokenizer.ggml.merges', merge 0: found 'he'");
    refuses([](Vocabulary& v) { v.bos = 275; },
            "'tokenizer.ggml.bos_token_id': found token id 275, expected an id below 275");
    refuses([](Vocabulary& v) { v.eot = -1; }, "'tokenizer.ggml.eot_token_id': found token id -1");
    refuses([](Vocabulary& v) { v.bos.reset(), v.add_bos = true; }, "'tokenizer.ggml.bos_token_id': found none");
    refuses([](Vocabulary& v) { v.eos.reset(), v.add_eos = true; }, "'tokenizer.ggml.eos_token_id': found none");
}

TEST(Tokenizer, EmptyAndIllFormedTokensAreTokensThatNoTextBecomes) {
    SmallVocabulary v("qwen2");
    v.add("", TokenType::Control);
    v.add("", TokenType::UserDefined);
    v.add("\xFF\xFE", TokenType::UserDefined);
    v.add("\xFF\xFD", TokenType::Normal);
    const Tokenizer t(v.vocabulary);
    EXPECT_EQ(t.encode("\xFF\xFE\xFF\xFD", kParsed).size(), 4u * 3u);
    EXPECT_EQ(t.piece(275), "");
    EXPECT_EQ(t.piece(278), "\xFF\xFD");
    EXPECT_EQ(t.decode(std::vector<TokenId>{278, 276}, true), "\uFFFD\uFFFD");
}

// Of two rules for a pair the first counts, as in llama.cpp.
TEST(Tokenizer, ARepeatedMergeKeepsItsFirstRank) {
    SmallVocabulary v("qwen2");
    v.vocabulary.merges.push_back("h e");
    EXPECT_THAT(Tokenizer(v.vocabulary).encode("hello", kPlain), ElementsAre(SmallVocabulary::kHello));
}

TEST(Tokenizer, AnyBytesComeBack) {
    std::mt19937 random(1);
    const std::vector<std::string> atoms = {"<|im_start|>",
                                            "<|im",
                                            "<|im|>",
                                            "<think>",
                                            "<",
                                            "hello",
                                            " world",
                                            " ",
                                            "\n",
                                            "\r",
                                            "'s",
                                            "1",
                                            "\u00e9",
                                            "e\u0301",
                                            "\u4e2d",
                                            "\xff",
                                            "\xe2\x82",
                                            "\xed\xa0\x80",
                                            "\U0001F600",
                                            "\u0323",
                                            "\u1100\u1161",
                                            std::string(1, '\0')};
    for (const auto& traits : all_pretokenizers()) {
        const Tokenizer t = small(std::string(traits.name));
        for (int round = 0; round < 3000; ++round) {
            std::string text;
            for (size_t n = random() % 20; n > 0; --n)
                text += random() % 4 == 0 ? std::string(1, char(random())) : atoms[random() % atoms.size()];
            const std::string repaired = replace_each_invalid_byte(text);
            for (const EncodeOptions options : {kPlain, kParsed}) {
                const auto ids = t.encode(text, options);
                const std::string back = t.decode(ids, true);
                if (traits.nfc)  // normal form is that of the pieces between special tokens
                    ASSERT_EQ(to_nfc(back), to_nfc(repaired)) << traits.name;
                else
                    ASSERT_EQ(back, repaired) << traits.name;
                StreamDecoder stream(t, true);
                std::string streamed;
                for (const TokenId id : ids) streamed += stream.push(id);
                ASSERT_EQ(streamed + stream.flush(), back);
            }
        }
    }
}

// Each would take minutes or more in quadratic time, and some would overflow a stack or PCRE2's default limits.
TEST(Tokenizer, AMegabyteWithoutACutTakesNoQuadraticTime) {
    const auto repeated = [](std::string_view unit) {
        std::string text;
        while (text.size() < 1'000'000) text += unit;
        return text;
    };
    std::vector<std::string> texts;
    for (const std::string_view unit : {"a", "hello", " ", "  x", "\n", " \n", "\t ", "!", "1", "'", "'s", "\u4e2d",
                                        "<", "<|im_", "<|im_start|>", "\xff", "\u0301\u0323", "e\u0301"})
        texts.push_back(repeated(unit));
    texts.push_back(repeated(" ") + "x");
    texts.push_back("e" + repeated("\u0301\u0323"));
    for (const auto* name : {"qwen2", "llama-bpe", "smollm", "gpt-2"}) {
        const Tokenizer t = small(name);
        for (const std::string& text : texts) {
            const auto start = std::chrono::steady_clock::now();
            EXPECT_GT(t.encode(text, kParsed).size(), 1000u);
            EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20)) << text.substr(0, 20);
        }
    }
}

}  // namespace
}  // namespace minfer::tokenizer
