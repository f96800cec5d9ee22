// Ten turns with each real model, in its own template: what each turn computes, that the cache changes no bit, and that
// a session stopped and resumed at every turn goes on as if it had never been.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "chat/chat_template.h"
#include "engine/conversation.h"
#include "engine/model_identity.h"
#include "engine/session_file.h"
#include "support/support.h"

namespace minfer::engine {
namespace {

constexpr const char* kMessages[] = {"Hello!",       "What is 2 + 2?", "And times 3?",  "Name a colour.",
                                     "Another one.", "Why not blue?",  "Say it again.", "In French?",
                                     "Thank you.",   "Goodbye."};

class RealConversation : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override { MINFER_SKIP_WITHOUT(path()); }
    std::filesystem::path path() const { return test::models_dir() / (std::string(GetParam()) + ".gguf"); }

    std::unique_ptr<Engine> open() const {
        return std::make_unique<Engine>(path().string(), EngineOptions{.n_ctx = 1024, .n_sequence = 2});
    }

    Conversation converse(Engine& engine, SequenceId sequence) {
        const auto chat_template = std::make_shared<chat::ChatTemplate>(
            chat::ChatTemplate::source_of(engine.file()).value(), engine.tokenizer());
        return Conversation(engine, sequence, [chat_template](const std::vector<chat::Message>& messages) {
            return chat_template->encode(messages);
        });
    }

    const GenerationOptions options_ = {.n_predict = 6, .sampling = {.seed = 3}};
    std::vector<TokenId> prompt_;
    const Conversation::Listener listener_ = {
        .started = [this](const std::vector<TokenId>& prompt) { prompt_ = prompt; },
        .text = {},
        .dropped = {},
        .interrupted = [] { return false; }};
};

TEST_P(RealConversation, ComputesWhatFollowsTheCommonPrefixBitForBit) {
    const std::unique_ptr<Engine> engine = open();
    Conversation talk = converse(*engine, 0);
    size_t n_prompt = 0, n_computed = 0;
    for (const char* message : kMessages) {
        const std::vector<TokenId> held(talk.held().begin(), talk.held().end());
        const chat::Transcript before = talk.transcript();
        const Generation g = talk.ask(message, options_, listener_);
        const auto common = size_t(std::ranges::mismatch(held, prompt_).in1 - held.begin());
        EXPECT_EQ(g.n_computed, prompt_.size() - common);
        EXPECT_GE(common + 1, held.size() / 2) << "most of what is held is common";
        n_prompt += g.n_prompt;
        n_computed += g.n_computed;

        engine->sequences().remove(1);
        Conversation anew = converse(*engine, 1);
        anew.set_transcript(before, talk.n_drawn() - 1);
        const Generation h = anew.ask(message, options_, listener_);
        EXPECT_EQ(h.n_computed, h.n_prompt);
        ASSERT_EQ(h.tokens, g.tokens) << message;
        std::vector<float> rows;
        engine->run({{g.tokens.back(), 0, true}, {g.tokens.back(), 1, true}},
                    [&](const Engine::Logits& l) { rows.assign(l.values.begin(), l.values.end()); });
        EXPECT_TRUE(
            std::equal(rows.begin(), rows.begin() + long(rows.size() / 2), rows.begin() + long(rows.size() / 2)));
        engine->sequences().truncate(0, engine->sequences().length(0) - 1);
    }
    fmt::print("{} tokens of prompts, {} computed\n", n_prompt, n_computed);
    EXPECT_LT(n_computed * 3, n_prompt);
}

TEST_P(RealConversation, StoppedAndResumedAtEveryTurn) {
    const test::TemporaryFolder folder;
    const std::string file = folder / "session";
    std::unique_ptr<Engine> whole_engine = open();
    const std::string identity = model_identity(whole_engine->file(), whole_engine->threads());
    Conversation whole = converse(*whole_engine, 0);
    chat::Transcript transcript;
    size_t n_drawn = 0;
    for (const char* message : kMessages) {
        const Generation expected = whole.ask(message, options_, listener_);
        const std::unique_ptr<Engine> engine = open();
        Conversation resumed = converse(*engine, 0);
        if (std::optional<LoadedSession> loaded = load_session(file, *engine, 0, identity)) {
            EXPECT_EQ(loaded->problem, "");
            resumed.set_held(std::move(loaded->tokens));
        }
        resumed.set_transcript(transcript, n_drawn);
        const Generation found = resumed.ask(message, options_, listener_);
        EXPECT_EQ(found.tokens, expected.tokens) << message;
        EXPECT_EQ(found.n_computed, expected.n_computed) << "resuming costs nothing";
        transcript = resumed.transcript();
        n_drawn = resumed.n_drawn();
        save_session(file, *engine, 0, identity, "", resumed.held());
    }
    EXPECT_EQ(transcript, whole.transcript());
}

INSTANTIATE_TEST_SUITE_P(Models, RealConversation,
                         testing::Values("smollm2-135m-instruct-q4_1", "qwen2.5-coder-0.5b-instruct-q4_k_m"),
                         [](const auto& p) {
                             return std::string(p.param).starts_with("smollm2") ? "smollm2" : "qwen2";
                         });

}  // namespace
}  // namespace minfer::engine
