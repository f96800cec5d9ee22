// Masks over a small vocabulary: against the texts that a grammar has, and against accepting each token in turn.
#include "sampling/grammar/constraint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "base/error.h"
#include "sampling/grammar/gbnf_parser.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/small_vocabulary.h"

namespace minfer::sampling::grammar {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using tokenizer::TokenType;

// Every byte, and words that cross the borders of most rules.
class Words {
  public:
    Words() {
        vocabulary_.source = "words.gguf";
        vocabulary_.pre = "qwen2";
        for (const std::string& byte : bytes_) vocabulary_.tokens.push_back(byte);
        for (const char* word : {"ab",   "abc",  "bc",    "aa",  "aaaa", "\":",   "\",",   "\"}", "{\"",  "[]",  "[[",
                                 "]]",   "]]]",  "],",    "12",  "123",  "1,",    " {",    "é",   "éa",   "日",  "日本",
                                 "ab\"", "a\"b", "\"a\"", "tru", "true", "true}", "null]", "\\n", "\\\"", "u00", "  ",
                                 "\n ",  "))",   "(1",    "1)",  ")+",   "+(",    "x=",    "==",  "=x;"}) {
            std::string spelled;
            for (const char* c = word; *c; ++c) spelled += bytes_[uint8_t(*c)];
            spelled_.push_back(std::move(spelled));
        }
        for (const std::string& word : spelled_) vocabulary_.tokens.push_back(word);
        vocabulary_.tokens.insert(vocabulary_.tokens.end(), {"<|im_end|>", "<think>", "<|tool|>"});
        vocabulary_.types.assign(vocabulary_.tokens.size(), TokenType::Normal);
        vocabulary_.types[end()] = vocabulary_.types[control()] = TokenType::Control;
        vocabulary_.types[think()] = TokenType::UserDefined;
        vocabulary_.eos = end();
    }
    int32_t end() const { return int32_t(vocabulary_.tokens.size()) - 3; }
    int32_t think() const { return end() + 1; }
    int32_t control() const { return end() + 2; }

    std::array<std::string, 256> bytes_ = tokenizer::byte_spellings();  // behind the views of the vocabulary
    std::vector<std::string> spelled_;
    tokenizer::Vocabulary vocabulary_;
};

class ConstraintTest : public testing::Test {
  protected:
    Constraint constraint(const std::string& gbnf) const {
        const Grammar grammar = parse_gbnf(gbnf, [&](std::string_view text) { return tokenizer_.find(text); });
        return Constraint(std::make_shared<TokenMasks>(grammar, trie_), tokenizer_);
    }
    static bool has(std::span<const uint64_t> set, int32_t token) {
        return set[size_t(token) / 64] >> (token % 64) & 1;
    }

    // Whether the text, byte by byte, is one of the grammar, or could become one.
    enum class Match { No, Start, Whole };
    Match match(const std::string& gbnf, std::string_view text) const {
        Constraint c = constraint(gbnf);
        for (const char byte : text) {
            if (!has(c.allowed(), uint8_t(byte))) return Match::No;
            c.accept(uint8_t(byte));
        }
        return c.can_end() ? Match::Whole : Match::Start;
    }

    // Random texts of the grammar; at each token the mask must be what accept() makes of every token.
    void masks_are_what_is_accepted(const std::string& gbnf, uint32_t seed) const {
        std::mt19937 random(seed);
        for (int text = 0; text < 30; ++text) {
            Constraint c = constraint(gbnf);
            std::vector<int32_t> so_far;
            for (int i = 0; i < 40; ++i) {
                const std::vector<uint64_t> allowed(c.allowed().begin(), c.allowed().end());
                std::vector<int32_t> choices;
                for (int32_t token = 0; token < int32_t(tokenizer_.n_vocab()); ++token) {
                    if (text % 10 == 0) {
                        Constraint probe = constraint(gbnf);
                        for (const int32_t before : so_far) probe.accept(before);
                        bool accepted = true;
                        try {
                            probe.accept(token);
                        } catch (const Error&) {
                            accepted = false;
                        }
                        ASSERT_EQ(has(allowed, token), accepted)
                            << gbnf << "\nafter " << tokenizer_.decode(so_far, true) << "\ntoken "
                            << tokenizer_.piece(token);
                    }
                    if (has(allowed, token) && token != words_.end()) choices.push_back(token);
                }
                ASSERT_EQ(has(allowed, words_.end()), c.can_end());
                if (choices.empty()) break;
                so_far.push_back(choices[random() % choices.size()]);
                c.accept(so_far.back());
            }
        }
    }

    Words words_;
    tokenizer::Tokenizer tokenizer_{words_.vocabulary_};
    std::shared_ptr<const TokenTrie> trie_ = std::make_shared<const TokenTrie>(tokenizer_);
};

constexpr const char* kJson = R"(root   ::= value
value  ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (member ("," ws member)*)? "}" ws
member ::= string ":" ws value
array  ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" char* "\"" ws
char   ::= [^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" hex hex hex hex)
hex    ::= [0-9a-fA-F]
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ws
ws     ::= [ \n]*
)";

TEST_F(ConstraintTest, TextsOfTheGrammar) {
    const char* gbnf = "root ::= \"a\" [b-d]+ (\"x\" | \"yz\"){2,3} end?\nend ::= \"é\" | \"日本\"";
    for (const char* whole : {"abxx", "abcdxyz", "adyzyzyz", "abxxx", "abxxé", "abxx日本"})
        EXPECT_EQ(match(gbnf, whole), Match::Whole) << whole;
    for (const char* start : {"", "a", "ab", "abx", "abxy", "abxx\xC3", "abxx日", "abxx\xE6\x97"})
        EXPECT_EQ(match(gbnf, start), Match::Start) << start;
    for (const char* no : {"b", "ae", "abxxxx", "abxxa", "abxxè", "abxx\xC3\xA8", "abxx日日"})
        EXPECT_EQ(match(gbnf, no), Match::No) << no;
}

TEST_F(ConstraintTest, RecursionCounts) {
    const char* gbnf = "root ::= \"(\" root \")\" | \"1\"";
    const std::string deep(2000, '(');
    EXPECT_EQ(match(gbnf, deep + "1" + std::string(2000, ')')), Match::Whole);
    EXPECT_EQ(match(gbnf, deep + "1" + std::string(1999, ')')), Match::Start);
    EXPECT_EQ(match(gbnf, deep + "1" + std::string(2001, ')')), Match::No);
}

TEST_F(ConstraintTest, Json) {
    for (const char* text : {"{\"a\": [1, 2.5, -0, true, null, \"é\\u00e9\\n\"]}", "[]", "\"\"", "[[[[{}]]]]"})
        EXPECT_EQ(match(kJson, text), Match::Whole) << text;
    for (const char* text : {"{a", "[1 2", "01", "\"\\x", "{\"a\" 1", "\"\t", "]"})
        EXPECT_EQ(match(kJson, text), Match::No) << text;
}

TEST_F(ConstraintTest, MasksAreWhatIsAccepted) {
    masks_are_what_is_accepted(kJson, 1);
    masks_are_what_is_accepted("root ::= expr\nexpr ::= term (\"+\" term)*\nterm ::= \"(\" expr \")\" | [0-9]+", 2);
    masks_are_what_is_accepted("root ::= (\"a\" | \"ab\" | \"abc\" | \"b\" | \"c\")*", 3);
    masks_are_what_is_accepted("root ::= (a b)* | (b a)+ c\na ::= \"a\"*\nb ::= \"b\"? \"é\"*\nc ::= [^a]{0,7}", 4);
    masks_are_what_is_accepted("root ::= [日-本é]* \"x\" root | \"[[\" root \"]]\" | \"\"", 5);
    masks_are_what_is_accepted("root ::= \"a\"{3,9} \"b\"{0,4} x\nx ::= \"a\" x \"a\" | \"c\"", 6);
    masks_are_what_is_accepted("root ::= <think> !<[300]>{0,9} <think> (\"x=\" . \";\")*\n", 7);
    masks_are_what_is_accepted("root ::= <|tool|> \"<think>\" [a-c]{2,40} \"a\"*", 8);
}

TEST_F(ConstraintTest, ControlTokensAreNoText) {
    Constraint c = constraint("root ::= .*");
    EXPECT_TRUE(has(c.allowed(), words_.think()));
    EXPECT_FALSE(has(c.allowed(), words_.control())) << "unless the grammar names them";
    EXPECT_TRUE(has(c.allowed(), words_.end()));
    EXPECT_TRUE(has(c.allowed(), 0xC3));
    EXPECT_FALSE(has(c.allowed(), 0xFF)) << "in no character";
    EXPECT_FALSE(has(c.allowed(), 0xA9)) << "not the start of one";
    c.accept(0xC3);
    EXPECT_TRUE(has(c.allowed(), 0xA9));
    EXPECT_FALSE(has(c.allowed(), 'a'));
    EXPECT_FALSE(has(c.allowed(), words_.end())) << "in the midst of a character";
    c.accept(0xA9);
    c.accept(words_.end());
    EXPECT_TRUE(c.can_end());
    EXPECT_THAT([&] { c.accept(words_.control()); },
                ThrowsMessage<Error>(HasSubstr("'<|tool|>', is not allowed here")));
}

TEST_F(ConstraintTest, RestartsAndKeepsMasks) {
    Constraint c = constraint("root ::= \"ab\" \"c\"");
    c.accept('a');
    EXPECT_FALSE(has(c.allowed(), 'a'));
    c.restart();
    EXPECT_TRUE(has(c.allowed(), 'a'));
}

TEST_F(ConstraintTest, GrammarsThatAskTooMuch) {
    EXPECT_THAT([&] { constraint("root ::= \"abcdefgh\"{60000}"); },
                ThrowsMessage<UnsupportedError>(HasSubstr("too large, more than 262144 states")));
    std::string ambiguous = "root ::= a0";
    for (int i = 1; i < 5000; ++i) ambiguous += fmt::format(" | a{}", i);
    for (int i = 0; i < 5000; ++i) ambiguous += fmt::format("\na{} ::= \"a\"+ a{} | \"b{}\"", i, i, i);
    EXPECT_THAT([&] { constraint(ambiguous).allowed(); }, ThrowsMessage<UnsupportedError>(HasSubstr("too ambiguous")));
}

// Much more than a machine keeps: it forgets, and goes on the same.
TEST_F(ConstraintTest, LongTexts) {
    Constraint c = constraint(kJson);
    for (int i = 0; i < 300000; ++i) c.accept('[');
    EXPECT_TRUE(has(c.allowed(), ']'));
    for (int i = 0; i < 300000; ++i) c.accept(']');
    EXPECT_TRUE(c.can_end());
    EXPECT_FALSE(has(c.allowed(), ']'));
}

TEST(TokenTrie, HasEachTokenAtItsBytes) {
    const Words words;
    const tokenizer::Tokenizer tokenizer(words.vocabulary_);
    const TokenTrie trie(tokenizer);
    std::vector<int> seen(tokenizer.n_vocab());
    std::string path;
    for (uint32_t node = 0; node < trie.size(); ++node) {
        path.resize(trie.depth(node));
        if (node > 0) path.back() = char(trie.byte(node));
        EXPECT_GT(trie.end(node), node);
        for (const int32_t token : trie.tokens(node)) {
            EXPECT_EQ(tokenizer.piece(token), path);
            ++seen[size_t(token)];
        }
    }
    EXPECT_EQ(trie.end(0), trie.size());
    for (int32_t id = 0; id < int32_t(tokenizer.n_vocab()); ++id)
        EXPECT_EQ(seen[size_t(id)], id != words.end() && id != words.control()) << id;
    EXPECT_EQ(trie.all_tokens(0).size(), tokenizer.n_vocab() - 2);
}

}  // namespace
}  // namespace minfer::sampling::grammar
