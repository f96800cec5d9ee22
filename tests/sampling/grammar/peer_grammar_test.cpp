// Grammars beside llama.cpp's: at every token of random texts, both allow the same tokens of a real vocabulary.
//
// Left out of the comparison: tokens that steer the model, which llama.cpp takes for text; and tokens whose bytes do
// not go on as UTF-8, of which llama.cpp lets some through (overlong forms, surrogates, a wrong byte within a token).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "gguf/reader.h"
#include "sampling/grammar/constraint.h"
#include "sampling/grammar/gbnf_parser.h"
#include "support/support.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/utf8.h"

namespace minfer::sampling::grammar {
namespace {

constexpr const char* kGrammars[] = {
    // Objects, arrays, strings and numbers, with rules of one character and loops by recursion.
    R"(root ::= ws value
value ::= "{" ws (pair ("," ws pair)*)? "}" ws | "[" ws (value ("," ws value)*)? "]" ws | text ws | num ws | ("true" | "false" | "null") ws
pair ::= text ws ":" ws value
text ::= "\"" letters
letters ::= "\"" | letter letters
letter ::= [^"\\\x01-\x1F] | "\\" (["\\/bfnrt] | "u" hex hex hex hex)
hex ::= [0-9a-fA-F]
num ::= "-"? ([0-9] | [1-9] [0-9]{0,15}) ("." [0-9]+)? ([eE] [-+]? [0-9]{1,3})?
ws ::= | " " | "\n" [ \t]{0,20}
)",
    // Sums and products.
    "root ::= (sum \"=\" ws value \"\\n\")+\nsum ::= product ([-+] ws product)*\nproduct ::= value ([*/] ws value)*\n"
    "value ::= [0-9]+ ws | [a-z] [a-z0-9-]* ws | \"(\" ws sum \")\" ws\nws ::= [ \\t]*\n",
    // A list in a natural language, characters of several bytes, bounded repetitions.
    "root ::= line{2,4}\nline ::= \"- \" word (\" \" word){0,6} [.!?] \"\\n\"\nword ::= [A-Za-zÀ-ÿ]{1,9} | "
    "[ぁ-ゖァ-ヺ一-龠]+ | \"€\" [0-9]\n",
    // Ambiguous: each text in many ways.
    "root ::= (\"a\" | \"an\" | \"and\" | \"nd\" | \" \" | word)*\nword ::= [a-m]+ | [n-z ]+ | word2\nword2 ::= \"th\" "
    "(\"e\" | \"is\" | \"at\")? word2?\n",
    // Anything but, and any character at all.
    "root ::= \"<b>\" [^<>]* \"</b>\" .{3} \"\\n\"? comment?\ncomment ::= \"<!--\" ([^-] | \"-\" [^-])* \"-->\"\n",
};

class PeerGrammar : public testing::Test {
  protected:
    static std::filesystem::path program() { return test::oracles_dir() / "peer/grammar"; }
    static std::filesystem::path model() { return test::models_dir() / "smollm2-135m-instruct-q4_1.gguf"; }
};

TEST_F(PeerGrammar, AllowsTheSameTokens) {
    MINFER_SKIP_WITHOUT(program());
    MINFER_SKIP_WITHOUT(model());
    const tokenizer::Tokenizer tokenizer = tokenizer::Tokenizer::from_gguf(gguf::Gguf::open(model()));
    const auto trie = std::make_shared<const TokenTrie>(tokenizer);
    const auto n_vocab = int32_t(tokenizer.n_vocab());
    std::mt19937 random(17);
    size_t n_compared = 0, n_allowed = 0;
    for (const char* gbnf : kGrammars) {
        const Grammar grammar = parse_gbnf(gbnf, [](std::string_view) { return std::nullopt; });
        const auto masks = std::make_shared<TokenMasks>(grammar, trie);
        // Texts that minfer allows, shorter tokens first among the choices, and the masks on the way.
        std::vector<std::vector<int32_t>> texts;
        std::vector<std::vector<uint64_t>> mine;
        for (int i = 0; i < 3; ++i) {
            Constraint c(masks, tokenizer);
            std::vector<int32_t>& text = texts.emplace_back();
            while (true) {
                mine.emplace_back(c.allowed().begin(), c.allowed().end());
                if (text.size() == 12) break;
                std::vector<int32_t> choices;
                for (int32_t id = 0; id < n_vocab; ++id)
                    if (mine.back()[size_t(id) / 64] >> (id % 64) & 1 && !tokenizer.is_end_of_generation(id))
                        choices.push_back(id);
                if (choices.empty()) break;
                int32_t chosen = choices[random() % choices.size()];
                for (int tries = 0; tries < 2; ++tries) {
                    const int32_t other = choices[random() % choices.size()];
                    if (tokenizer.piece(other).size() < tokenizer.piece(chosen).size()) chosen = other;
                }
                text.push_back(chosen);
                c.accept(chosen);
            }
        }
        const test::TemporaryFolder folder;
        std::string sequences;
        for (const std::vector<int32_t>& text : texts) {
            const auto n = uint32_t(text.size());
            sequences.append(reinterpret_cast<const char*>(&n), 4);
            sequences.append(reinterpret_cast<const char*>(text.data()), 4 * text.size());
        }
        test::write_file(folder / "grammar", gbnf);
        test::write_file(folder / "sequences", sequences);
        const test::Finished done =
            test::run({program(), model(), folder / "grammar", folder / "sequences", folder / "out"});
        ASSERT_EQ(done.status, 0) << done.err << gbnf;
        const std::string theirs = test::read_file(folder / "out");
        const size_t n_byte = (size_t(n_vocab) + 7) / 8;
        ASSERT_EQ(theirs.size(), mine.size() * n_byte);
        size_t step = 0;
        for (const std::vector<int32_t>& text : texts) {
            std::string so_far;
            for (size_t i = 0; i <= text.size(); ++i, ++step) {
                for (int32_t id = 0; id < n_vocab; ++id) {
                    const bool a = mine[step][size_t(id) / 64] >> (id % 64) & 1;
                    const bool b = uint8_t(theirs[step * n_byte + size_t(id) / 8]) >> (id % 8) & 1;
                    n_allowed += a;
                    ++n_compared;
                    if (a == b || (tokenizer.is_special(id) && !tokenizer.is_end_of_generation(id))) continue;
                    // The start of a text is UTF-8 where at most its last character is cut.
                    std::string_view rest = so_far;
                    const std::string with = so_far + std::string(tokenizer.piece(id));
                    rest = with;
                    bool ill_formed = false;
                    while (!rest.empty()) {
                        const tokenizer::Utf8Sequence s = tokenizer::first_sequence(rest);
                        ill_formed |= s.state == tokenizer::Utf8Sequence::State::Invalid;
                        rest.remove_prefix(s.length);
                    }
                    if (ill_formed && !a) continue;
                    ADD_FAILURE() << (a ? "minfer" : "llama.cpp") << " alone allows token " << id << " '"
                                  << tokenizer.piece(id) << "' after '" << so_far << "' of\n"
                                  << gbnf;
                }
                if (i < text.size()) so_far += tokenizer.piece(text[i]);
            }
        }
    }
    fmt::print("{} tokens compared, {} of them allowed\n", n_compared, n_allowed);
    EXPECT_GT(n_allowed, 100000u);
}

}  // namespace
}  // namespace minfer::sampling::grammar
