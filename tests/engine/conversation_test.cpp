// Conversations on a model of a few kilobytes whose tokens are bytes: what is computed, and that the cache changes no
// bit.
#include "engine/conversation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "base/error.h"
#include "model/tiny_file.h"
#include "support/support.h"

namespace minfer::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class ConversationTest : public testing::Test {
  protected:
    ConversationTest() {
        test::TinyFile f = test::tiny_file("llama", {.n_vocab = 258});
        test::add_byte_tokenizer(f);
        f.write(folder_ / "model.gguf");
        open(400);
    }

    void open(size_t n_ctx) {
        engine_ = std::make_unique<Engine>((folder_ / "model.gguf").string(),
                                           EngineOptions{.n_ctx = n_ctx, .n_batch = 32, .n_threads = 1});
    }

    // "U:hello/A:world/U:more/A:". Replies but the last lose what stands before a '}', as templates of models that
    // think leave thoughts out.
    static std::vector<TokenId> encode(const std::vector<chat::Message>& messages) {
        std::vector<TokenId> ids;
        const auto add = [&](std::string_view text) {
            for (const char c : text) ids.push_back(TokenId(uint8_t(c)));
        };
        for (const chat::Message& m : messages) {
            add(m.role == "user" ? "U:" : m.role == "system" ? "S:" : "A:");
            add(m.role == "assistant" ? std::string_view(m.content).substr(m.content.find('}') + 1) : m.content);
            add("/");
        }
        add("A:");
        return ids;
    }

    static GenerationOptions options(size_t n = 12) {
        return {
            .n_predict = n,
            .sampling = {.temperature = 1.5f, .top_k = 0, .top_p = 1, .min_p = 0, .repeat_penalty = 1.1f, .seed = 5},
            .ignore_eos = true};
    }

    Conversation::Listener listener() {
        return {.started = [this](const std::vector<TokenId>& prompt) { prompt_ = prompt; },
                .text = {},
                .dropped = [this](size_t n) { dropped_.push_back(n); },
                .interrupted = [this] { return n_calls_left_-- == 0; }};
    }

    // The logits after one more token, which tell of every bit of the cache.
    static std::vector<float> logits(Engine& engine) {
        const int32_t length = engine.sequences().length(0);
        std::vector<float> out;
        engine.run({{42, 0, true}}, [&](const Engine::Logits& l) { out.assign(l.values.begin(), l.values.end()); });
        engine.sequences().truncate(0, length);
        return out;
    }

    test::TemporaryFolder folder_;
    std::unique_ptr<Engine> engine_;
    std::vector<TokenId> prompt_;
    std::vector<size_t> dropped_;
    int n_calls_left_ = -1;
};

TEST_F(ConversationTest, ComputesWhatFollowsTheCommonPrefixAndGivesTheBitsOfComputingAll) {
    Conversation talk(*engine_, 0, encode);
    talk.set_system("be brief");
    std::mt19937 random(3);
    for (int turn = 0; turn < 12; ++turn) {
        const std::vector<TokenId> held(talk.held().begin(), talk.held().end());
        ASSERT_EQ(held.size(), size_t(engine_->sequences().length(0)));
        chat::Transcript before = talk.transcript();
        Generation g;
        const bool again = turn % 4 == 3;
        if (again)
            g = talk.regenerate(options(), listener());
        else
            g = talk.ask("question " + std::to_string(random() % 1000), options(), listener());
        const size_t common =
            std::min(size_t(std::ranges::mismatch(held, prompt_).in1 - held.begin()), prompt_.size() - 1);
        EXPECT_EQ(g.n_prompt, prompt_.size());
        EXPECT_EQ(g.n_computed, prompt_.size() - common) << turn;
        EXPECT_TRUE(turn == 0 || g.n_computed < prompt_.size());
        EXPECT_TRUE(!again || g.n_computed == 1);

        // Another engine that starts from the text alone.
        Engine fresh((folder_ / "model.gguf").string(), {.n_ctx = 400, .n_batch = 7, .n_threads = 2});
        Conversation anew(fresh, 0, encode);
        anew.set_transcript(before, talk.n_drawn() - 1);
        Generation h;
        if (again)
            h = anew.regenerate(options(), listener());
        else
            h = anew.ask(talk.transcript().turns.back().user, options(), listener());
        EXPECT_EQ(h.n_computed, h.n_prompt);
        EXPECT_EQ(h.tokens, g.tokens);
        EXPECT_EQ(anew.transcript(), talk.transcript());
        EXPECT_EQ(logits(fresh), logits(*engine_));
        if (turn == 5) talk.undo();
        if (turn == 7) talk.set_system("be long");
    }
}

TEST_F(ConversationTest, AnotherTryIsAnotherDraw) {
    Conversation talk(*engine_, 0, encode);
    talk.ask("hello", options(), listener());
    const std::string first = talk.transcript().turns[0].reply;
    talk.regenerate(options(), listener());
    EXPECT_NE(talk.transcript().turns[0].reply, first);
    EXPECT_EQ(talk.transcript().turns.size(), 1u);
    EXPECT_EQ(talk.n_drawn(), 2u);
}

TEST_F(ConversationTest, AFullContextDropsTheOldestTurnsAndGoesOn) {
    open(120);
    Conversation talk(*engine_, 0, encode);
    talk.set_system("sys");
    for (int turn = 0; turn < 10; ++turn) {
        const chat::Transcript before = talk.transcript();
        dropped_.clear();
        const Generation g = talk.ask("a question of 30 characters...", options(20), listener());
        EXPECT_EQ(g.reason, StopReason::Length);
        EXPECT_EQ(g.tokens.size(), 20u) << "the reply is whole, wherever the context filled up";
        EXPECT_EQ(talk.transcript().turns.size(), size_t(turn) + 1) << "the record keeps what the model forgets";
        EXPECT_TRUE(turn > 0 || dropped_.empty());
        if (talk.transcript().n_dropped > before.n_dropped) {
            EXPECT_THAT(dropped_, ElementsAre(talk.transcript().n_dropped - before.n_dropped));
            EXPECT_LE(encode(talk.transcript().messages_before_reply()).size(), 90u);
        }
        std::vector<TokenId> expected = encode(talk.transcript().messages_before_reply());
        expected.insert(expected.end(), g.tokens.begin(), g.tokens.end() - 1);
        EXPECT_THAT(talk.held(), testing::ElementsAreArray(expected));

        // The same from the text alone, in which the context fills up at the same place.
        Engine fresh((folder_ / "model.gguf").string(), {.n_ctx = 120, .n_threads = 1});
        Conversation anew(fresh, 0, encode);
        anew.set_transcript(before, size_t(turn));
        EXPECT_EQ(anew.ask("a question of 30 characters...", options(20), listener()).tokens, g.tokens);
        EXPECT_EQ(logits(fresh), logits(*engine_));
    }
    EXPECT_GT(talk.transcript().n_dropped, 4u);
}

TEST_F(ConversationTest, AReplyTooLongForAnyContextEndsThere) {
    open(60);
    Conversation talk(*engine_, 0, encode);
    const Generation g = talk.ask("hello", options(200), listener());
    EXPECT_EQ(g.reason, StopReason::ContextFull);
    EXPECT_EQ(g.n_prompt + g.tokens.size() - 1, 60u);
    EXPECT_EQ(talk.transcript().turns.size(), 1u);
    const Generation next = talk.ask("and?", options(5), listener());
    EXPECT_THAT(dropped_, ElementsAre(1u));
    EXPECT_EQ(next.tokens.size(), 5u);
}

TEST_F(ConversationTest, AMessageThatDoesNotFitIsRefusedAndForgotten) {
    open(40);
    Conversation talk(*engine_, 0, encode);
    talk.ask("hi", options(4), listener());
    const chat::Transcript before = talk.transcript();
    EXPECT_THAT([&] { talk.ask(std::string(60, 'x'), options(4), listener()); },
                ThrowsMessage<ShapeError>(HasSubstr("does not fit the context of 40 tokens; --n-ctx makes it larger")));
    EXPECT_EQ(talk.transcript(), before);
    EXPECT_EQ(talk.ask("still here", options(4), listener()).tokens.size(), 4u);
}

TEST_F(ConversationTest, InterruptedRepliesStayAndInterruptedPromptsDoNot) {
    Conversation talk(*engine_, 0, encode);
    n_calls_left_ = 1 + 4;  // one pass of the prompt, then four tokens
    Generation g = talk.ask("hello", options(), listener());
    EXPECT_EQ(g.reason, StopReason::Interrupted);
    EXPECT_EQ(talk.transcript().turns.size(), 1u);
    EXPECT_FALSE(talk.transcript().turns[0].reply.empty());
    EXPECT_EQ(talk.held().size(), size_t(engine_->sequences().length(0)));
    n_calls_left_ = 1;  // the prompt of more than one pass
    const chat::Transcript before = talk.transcript();
    g = talk.ask(std::string(70, 'y'), options(), listener());
    EXPECT_EQ(g.reason, StopReason::Interrupted);
    EXPECT_EQ(talk.transcript(), before);
    n_calls_left_ = -1;
    g = talk.ask(std::string(70, 'y'), options(), listener());
    EXPECT_LT(g.n_computed, 70u) << "what was computed of it before is not lost";
}

TEST_F(ConversationTest, AFailureLeavesItAsItWas) {
    Conversation talk(*engine_, 0, encode);
    talk.ask("hello", options(), listener());
    const chat::Transcript before = talk.transcript();
    talk.set_encode([](const std::vector<chat::Message>&) -> std::vector<TokenId> { throw Error("no such role"); });
    EXPECT_THROW(talk.ask("more", options(), listener()), Error);
    EXPECT_THROW(talk.regenerate(options(), listener()), Error);
    EXPECT_EQ(talk.transcript(), before);
    talk.set_encode([](const std::vector<chat::Message>&) { return std::vector<TokenId>{1, 2, 300}; });
    EXPECT_THROW(talk.ask("more", options(), listener()), ShapeError);
    EXPECT_EQ(talk.transcript(), before);
    EXPECT_EQ(talk.held().size(), size_t(engine_->sequences().length(0)));
    talk.set_encode(encode);
    EXPECT_EQ(talk.ask("more", options(), listener()).tokens.size(), 12u);
}

// As the tokenizer reads it, so that it can be kept as JSON.
TEST_F(ConversationTest, TextThatIsNoUtf8) {
    Conversation talk(*engine_, 0, encode);
    talk.set_system("\xff");
    talk.ask("caf\xe9", options(), listener());
    EXPECT_EQ(talk.transcript().system, "\xEF\xBF\xBD");
    EXPECT_EQ(talk.transcript().turns.back().user, "caf\xEF\xBF\xBD");
    talk.set_system(std::nullopt);
    EXPECT_FALSE(talk.transcript().system);
}

TEST_F(ConversationTest, TurnsAreTakenBack) {
    Conversation talk(*engine_, 0, encode);
    EXPECT_THROW(talk.undo(), Error);
    EXPECT_THROW(talk.regenerate(options(), listener()), Error);
    talk.set_transcript({"s", {{"a", "b"}, {"c", "d"}, {"e", "f"}}, 2});
    talk.undo();
    EXPECT_EQ(talk.transcript(), (chat::Transcript{"s", {{"a", "b"}, {"c", "d"}}, 1})) << "the last turn is seen";
    talk.clear();
    EXPECT_EQ(talk.transcript(), (chat::Transcript{"s", {}, 0}));
}

}  // namespace
}  // namespace minfer::engine
