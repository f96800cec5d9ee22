// The generation loop on a model of a few kilobytes whose tokens are bytes.
#include "engine/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "model/tiny_file.h"
#include "support/support.h"

namespace minfer::engine {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class Generate : public testing::Test {
  protected:
    Generate() {
        test::TinyFile f = test::tiny_file("llama", {.n_vocab = 258});
        test::add_byte_tokenizer(f);
        f.write(folder_ / "model.gguf");
    }

    Engine engine(size_t n_ctx = 128) {
        return Engine((folder_ / "model.gguf").string(), {.n_ctx = n_ctx, .n_threads = 1});
    }

    // Generates after the prompt and keeps the text.
    Generation run(Engine& engine, std::string_view prompt, const GenerationOptions& options,
                   size_t interrupt_at = 1000) {
        text_.clear();
        pieces_ = 0;
        return generate(
            engine, 0, engine.tokenizer().encode(prompt), options,
            [&](std::string_view piece) {
                text_ += piece;
                ++pieces_;
            },
            [&] { return pieces_ >= interrupt_at; });
    }

    test::TemporaryFolder folder_;
    std::string text_;
    size_t pieces_ = 0;
};

const sampling::SamplerParams kRandom = {.temperature = 3, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 5};

TEST_F(Generate, StopsAtTheLength) {
    Engine e = engine();
    const Generation g = run(e, "hello", {.n_predict = 7, .sampling = {.greedy = true}, .ignore_eos = true});
    EXPECT_EQ(g.reason, StopReason::Length);
    EXPECT_EQ(g.tokens.size(), 7u);
    EXPECT_EQ(g.n_prompt, 5u);
    EXPECT_EQ(e.sequences().length(0), 5 + 6) << "the last token need not go through the model";
    EXPECT_EQ(text_, e.tokenizer().decode(g.tokens, false));
}

TEST_F(Generate, StopsWhenTheContextIsFull) {
    Engine e = engine(10);
    const Generation g = run(e, "hello", {.sampling = {.greedy = true}, .ignore_eos = true});
    EXPECT_EQ(g.reason, StopReason::ContextFull);
    EXPECT_EQ(g.tokens.size(), 6u);
    EXPECT_EQ(e.sequences().n_free(), 0);
}

TEST_F(Generate, StopsAtATokenThatEndsTheText) {
    Engine e = engine(4096);
    const Generation g = run(e, "hello", {.sampling = kRandom});
    ASSERT_EQ(g.reason, StopReason::EndOfText) << "4,000 draws among 258 tokens, two of which end the text";
    EXPECT_GE(g.tokens.back(), 256);
    EXPECT_EQ(text_, e.tokenizer().decode(g.tokens, false)) << "and it is not printed";
    Engine again = engine(4096);
    const Generation longer =
        run(again, "hello", {.n_predict = g.tokens.size() + 3, .sampling = kRandom, .ignore_eos = true});
    EXPECT_EQ(longer.reason, StopReason::Length);
    EXPECT_TRUE(std::equal(g.tokens.begin(), g.tokens.end(), longer.tokens.begin()));
}

TEST_F(Generate, TextIsWholeCharacters) {
    Engine e = engine(600);
    run(e, "hello", {.n_predict = 500, .sampling = kRandom, .ignore_eos = true});
    EXPECT_THAT(text_, HasSubstr("\xEF\xBF\xBD")) << "random bytes are hardly ever UTF-8";
    for (size_t at = 0; at < text_.size();) {
        const tokenizer::Utf8Sequence s = tokenizer::first_sequence(std::string_view(text_).substr(at));
        ASSERT_EQ(s.state, tokenizer::Utf8Sequence::State::Whole) << at;
        at += s.length;
    }
}

TEST_F(Generate, StopStringsEndTheText) {
    Engine e = engine();
    run(e, "hello", {.n_predict = 30, .sampling = kRandom, .ignore_eos = true});
    const std::string whole = text_;
    const std::string stop = whole.substr(9, 4);
    Engine again = engine();
    const Generation g =
        run(again, "hello", {.n_predict = 30, .sampling = kRandom, .stop = {stop}, .ignore_eos = true});
    EXPECT_EQ(g.reason, StopReason::StopString);
    EXPECT_EQ(text_, whole.substr(0, whole.find(stop)));
}

TEST_F(Generate, StopsWhenInterrupted) {
    Engine e = engine();
    const Generation g = run(e, "hello", {.sampling = {.greedy = true}, .ignore_eos = true}, 0);
    EXPECT_EQ(g.reason, StopReason::Interrupted);
    EXPECT_TRUE(g.tokens.empty());
    EXPECT_EQ(run(e, "hello", {.sampling = kRandom, .ignore_eos = true}, 3).reason, StopReason::Interrupted);
    EXPECT_GE(pieces_, 3u);
    EXPECT_LE(pieces_, 4u);
}

TEST_F(Generate, CountsTheTokensOfThePromptThatRanBeforeAnInterruption) {
    Engine e((folder_ / "model.gguf").string(), {.n_ctx = 128, .n_batch = 2, .n_threads = 1});
    const std::vector<TokenId> prompt = e.tokenizer().encode("hello");
    ASSERT_EQ(prompt.size(), 5u);
    int n_asked = 0;
    const Generation g =
        generate(e, 0, prompt, {.sampling = kRandom}, [](std::string_view) {}, [&] { return ++n_asked == 3; });
    EXPECT_EQ(g.reason, StopReason::Interrupted);
    EXPECT_EQ(g.n_computed, 4u);
}

TEST_F(Generate, TheSameSeedGivesTheSameText) {
    std::string first;
    for (const uint64_t seed : {8, 8, 9}) {
        Engine e = engine();
        sampling::SamplerParams s = kRandom;
        s.seed = seed;
        run(e, "hello", {.n_predict = 20, .sampling = s});
        if (first.empty())
            first = text_;
        else if (seed == 8)
            EXPECT_EQ(text_, first);
        else
            EXPECT_NE(text_, first);
    }
}

// The prompt is part of the text that must not be repeated.
TEST_F(Generate, RepeatPenaltySeesThePrompt) {
    Engine e = engine();
    const Generation plain = run(e, "hello", {.n_predict = 1, .sampling = {.greedy = true}, .ignore_eos = true});
    const std::string prompt = "hello";
    Engine again = engine();
    std::vector<TokenId> ids = again.tokenizer().encode(prompt);
    ids.insert(ids.begin(), plain.tokens[0]);
    const Generation g = generate(
        again, 0, ids, {.n_predict = 1, .sampling = {.greedy = true, .repeat_penalty = 1e6f}, .ignore_eos = true},
        [](std::string_view) {}, [] { return false; });
    EXPECT_EQ(std::ranges::count(ids, g.tokens[0]), 0);
}

TEST_F(Generate, RefusesPromptsThatDoNotGo) {
    Engine e = engine(8);
    EXPECT_THAT([&] { run(e, "", {}); }, ThrowsMessage<ShapeError>(HasSubstr("the prompt is empty")));
    EXPECT_THAT([&] { run(e, "hello, world", {}); },
                ThrowsMessage<ShapeError>(HasSubstr("the prompt of 12 tokens does not fit the context of 8 tokens")));
    EXPECT_EQ(e.sequences().length(0), 0);
    const std::vector<TokenId> outside = {1, 258};
    EXPECT_THAT([&] { generate(e, 0, outside, {}, [](std::string_view) {}, [] { return false; }); },
                ThrowsMessage<ShapeError>(HasSubstr("token id 258 is outside the vocabulary")));
}

}  // namespace
}  // namespace minfer::engine
