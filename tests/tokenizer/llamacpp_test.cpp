// The tokenizer against llama.cpp's library on SmolLM2's vocabulary, invalid UTF-8 included.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gguf/reader.h"
#include "support/support.h"
#include "tokenizer/records.h"
#include "tokenizer/tokenizer.h"

namespace minfer::tokenizer {
namespace {

TEST(LlamaCpp, IdsAndPiecesOfSmolLm2AreTheSame) {
    const auto model = test::models_dir() / "smollm2-135m-instruct-q4_1.gguf";
    const auto program = test::oracles_dir() / "peer/tokenize";
    MINFER_SKIP_WITHOUT(test::python());
    MINFER_SKIP_WITHOUT(model);
    MINFER_SKIP_WITHOUT(program);
    test::TemporaryFolder folder;
    const auto texts = folder / "texts", records = folder / "records";
    std::vector<std::string> words = {test::python().string(),
                                      (test::source_dir() / "tests/tokenizer/corpus.py").string(), texts.string()};
    const auto tokenizer = Tokenizer::from_gguf(gguf::Gguf::open(model.string(), gguf::Gguf::Access::Read));
    for (TokenId id = 0; size_t(id) < tokenizer.n_vocab(); ++id)
        if (tokenizer.type(id) == TokenType::Control) words.emplace_back(tokenizer.piece(id));
    const auto made = test::run(words);
    ASSERT_EQ(made.status, 0) << made.err;
    const auto asked = test::run({program.string(), model.string(), texts.string(), records.string()});
    ASSERT_EQ(asked.status, 0) << asked.err;
    const auto counts = test::expect_the_same(records, &tokenizer);
    EXPECT_GE(counts.encoded, 2u * 6000u);
    EXPECT_EQ(counts.pieces, tokenizer.n_vocab());
}

}  // namespace
}  // namespace minfer::tokenizer
