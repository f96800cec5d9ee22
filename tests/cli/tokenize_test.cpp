// `minfer tokenize` as a user runs it, on a file with a vocabulary and no tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gguf/writer.h"
#include "support/support.h"
#include "tokenizer/small_vocabulary.h"

namespace minfer::cli {
namespace {

using testing::HasSubstr;

class TokenizeCommand : public testing::Test {
  protected:
    TokenizeCommand() : model_(folder_ / "small.gguf") {
        const test::SmallVocabulary small("llama-bpe");
        std::vector<int32_t> types;
        for (const auto type : small.vocabulary.types) types.push_back(int32_t(type));
        gguf::Writer writer(model_);
        writer.set("tokenizer.ggml.model", gguf::Value::string("gpt2"));
        writer.set("tokenizer.ggml.pre", gguf::Value::string("llama-bpe"));
        writer.set("tokenizer.ggml.tokens", gguf::Value::strings(small.vocabulary.tokens));
        writer.set("tokenizer.ggml.token_type", gguf::Value::array(std::span<const int32_t>(types)));
        writer.set("tokenizer.ggml.merges", gguf::Value::strings(small.vocabulary.merges));
        writer.set("tokenizer.ggml.bos_token_id", gguf::Value::scalar<uint32_t>(test::SmallVocabulary::kImStart));
        writer.begin();
        writer.commit();
    }

    test::Finished tokenize(std::vector<std::string> words, const std::string& input = "") {
        words.insert(words.begin(), {test::binary().string(), "tokenize", model_});
        return test::run(words, input);
    }

    test::TemporaryFolder folder_;
    std::string model_;
};

TEST_F(TokenizeCommand, PrintsATokenALine) {
    const auto done = tokenize({"hello \"\n\\\x01\xE2\x82\xAC<|im_end|>"});
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(done.out,
              "     268  \"<|im_start|>\"\n"
              "     259  \"hello\"\n"
              "      32  \" \"\n"
              "      34  \"\\\"\"\n"
              "      10  \"\\n\"\n"
              "      92  \"\\\\\"\n"
              "       1  \"\\x01\"\n"
              "     226  \"\\xe2\"\n"
              "     130  \"\\x82\"\n"
              "     172  \"\\xac\"\n"
              "     269  \"<|im_end|>\"\n");
}

TEST_F(TokenizeCommand, PrintsJson) {
    EXPECT_EQ(tokenize({"--json", "hello\xC3\xA9\xE2\x82\xAC"}).out,
              "{\"tokens\":[268,259,267,226,130,172],"
              "\"pieces\":[\"<|im_start|>\",\"hello\",\"\xC3\xA9\",\"\uFFFD\",\"\uFFFD\",\"\uFFFD\"]}\n");
    EXPECT_EQ(tokenize({"--json", "--no-special", ""}).out, "{\"tokens\":[],\"pieces\":[]}\n");
    EXPECT_EQ(tokenize({"--ids", "hello world"}).out, "268 259 264\n");
}

TEST_F(TokenizeCommand, ReadsStandardInputToItsLastByte) {
    EXPECT_EQ(tokenize({"--ids", "--no-special"}, "hello\n").out, "259 10\n");
    EXPECT_EQ(tokenize({"--ids", "--no-special"}, std::string("a\0b", 3)).out, "97 0 98\n");
}

TEST_F(TokenizeCommand, FlagsSayWhatIsSpecial) {
    EXPECT_EQ(tokenize({"--ids", "--no-special", "<|im_end|>"}).out, "269\n");
    EXPECT_EQ(tokenize({"--ids", "--no-special", "--no-parse-special", "<|im|>"}).out, "60 124 105 109 124 62\n");
}

TEST_F(TokenizeCommand, SaysWhatIsWrong) {
    EXPECT_EQ(tokenize({"--json", "--ids", "x"}).status, 2);
    EXPECT_EQ(tokenize({"--what"}).status, 2);
    EXPECT_EQ(test::run({test::binary().string(), "tokenize"}).status, 2);
    const auto missing = test::run({test::binary().string(), "tokenize", folder_ / "none.gguf", "x"});
    EXPECT_EQ(missing.status, 1);
    EXPECT_THAT(missing.err, HasSubstr("minfer tokenize: "));
    EXPECT_THAT(missing.err, HasSubstr("none.gguf"));
}

}  // namespace
}  // namespace minfer::cli
