// The keys of a GGUF file: what is read, and what is refused by its key.
#include "tokenizer/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "gguf/reader.h"
#include "gguf/writer.h"
#include "support/support.h"
#include "tokenizer/tokenizer.h"

namespace minfer::tokenizer {
namespace {

using gguf::Value;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

template <typename T>
Value array(const std::vector<T>& items) {
    return Value::array(std::span<const T>(items));
}

class GgufVocabulary : public testing::Test {
  protected:
    GgufVocabulary() {
        set("tokenizer.ggml.model", Value::string("gpt2"));
        set("tokenizer.ggml.pre", Value::string("gpt-2"));
        set("tokenizer.ggml.tokens", Value::strings(std::vector<std::string>{"a", "b", "ab", "<s>"}));
        set("tokenizer.ggml.token_type", array<int32_t>({1, 1, 1, 3}));
        set("tokenizer.ggml.merges", Value::strings(std::vector<std::string>{"a b"}));
        set("tokenizer.ggml.bos_token_id", Value::scalar<uint32_t>(3));
    }

    void set(std::string_view key, std::optional<Value> value) { changes_.emplace_back(key, std::move(value)); }

    Vocabulary read() {
        const std::string path = folder_ / "v.gguf";
        gguf::Writer writer(path);
        for (const auto& [key, value] : changes_) {
            if (value)
                writer.set(key, *value);
            else
                writer.remove(key);
        }
        writer.begin();
        writer.commit();
        file_.emplace(gguf::Gguf::open(path, gguf::Gguf::Access::Read));
        return Vocabulary::from_gguf(*file_);
    }

    void refuses(std::string_view key, std::optional<Value> value, const std::string& message) {
        set(key, std::move(value));
        EXPECT_THAT([&] { read(); }, ThrowsMessage<Error>(HasSubstr(message)));
        changes_.resize(6);
    }

  private:
    test::TemporaryFolder folder_;
    std::vector<std::pair<std::string, std::optional<Value>>> changes_;
    std::optional<gguf::Gguf> file_;
};

TEST_F(GgufVocabulary, IsRead) {
    set("tokenizer.ggml.eos_token_id", Value::scalar<uint64_t>(2));
    set("tokenizer.ggml.eot_token_id", Value::scalar<int8_t>(1));
    set("tokenizer.ggml.eom_token_id", Value::scalar<uint8_t>(0));
    set("tokenizer.ggml.add_bos_token", Value::scalar(true));
    set("tokenizer.ggml.add_eos_token", Value::scalar(true));
    const Vocabulary v = read();
    EXPECT_EQ(v.pre, "gpt-2");
    EXPECT_THAT(v.tokens, ElementsAre("a", "b", "ab", "<s>"));
    EXPECT_THAT(v.types, ElementsAre(TokenType::Normal, TokenType::Normal, TokenType::Normal, TokenType::Control));
    EXPECT_THAT(v.merges, ElementsAre("a b"));
    EXPECT_EQ(v.bos, 3);
    EXPECT_EQ(v.eos, 2);
    EXPECT_EQ(v.eot, 1);
    EXPECT_EQ(v.eom, 0);
    EXPECT_EQ(v.add_bos, true);
    EXPECT_TRUE(v.add_eos);
    EXPECT_THAT(Tokenizer(v).encode("ab"), ElementsAre(3, 2, 2));
}

TEST_F(GgufVocabulary, WhatIsMissingIsNothing) {
    set("tokenizer.ggml.token_type", std::nullopt);
    set("tokenizer.ggml.bos_token_id", std::nullopt);
    const Vocabulary v = read();
    EXPECT_TRUE(v.types.empty());
    EXPECT_FALSE(v.bos || v.eos || v.eot || v.eom || v.add_bos || v.add_eos);
    EXPECT_EQ(Tokenizer(v).type(3), TokenType::Normal);
}

TEST_F(GgufVocabulary, IsRefusedByItsKeys) {
    refuses("tokenizer.ggml.model", std::nullopt, "tokenizer.ggml.model");
    refuses("tokenizer.ggml.model", Value::string("llama"), "unsupported tokenizer 'llama'; minfer runs 'gpt2'");
    refuses("tokenizer.ggml.pre", std::nullopt, "tokenizer.ggml.pre");
    refuses("tokenizer.ggml.pre", Value::scalar(1.0f), "tokenizer.ggml.pre");
    refuses("tokenizer.ggml.add_sep_token", Value::scalar(true), "tokenizer.ggml.add_sep_token");
    refuses("tokenizer.ggml.tokens", std::nullopt, "tokenizer.ggml.tokens");
    refuses("tokenizer.ggml.tokens", array<uint32_t>({1, 2}), "tokenizer.ggml.tokens");
    refuses("tokenizer.ggml.tokens", Value::strings(std::vector<std::string>{}), "found 0 tokens, expected from 1");
    refuses("tokenizer.ggml.token_type", array<int32_t>({1, 1, 7, 3}),
            "'tokenizer.ggml.token_type', token 2: found type 7");
    refuses("tokenizer.ggml.token_type", array<int32_t>({1, 1, 1, -1}),
            "token 3: found type -1, expected a type from 0 to 6");
    refuses("tokenizer.ggml.token_type", array<float>({1, 1, 1, 3}), "tokenizer.ggml.token_type");
    refuses("tokenizer.ggml.merges", std::nullopt, "tokenizer.ggml.merges");
    refuses("tokenizer.ggml.merges", Value::string("a b"), "tokenizer.ggml.merges");
    refuses("tokenizer.ggml.bos_token_id", Value::scalar<uint32_t>(0xFFFFFFFF), "tokenizer.ggml.bos_token_id");
    refuses("tokenizer.ggml.eos_token_id", Value::string("2"), "tokenizer.ggml.eos_token_id");
    refuses("tokenizer.ggml.add_bos_token", Value::scalar<uint8_t>(1), "tokenizer.ggml.add_bos_token");
}

}  // namespace
}  // namespace minfer::tokenizer
