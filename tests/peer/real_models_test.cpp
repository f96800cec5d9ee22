// The two real models against what llama.cpp was recorded to do with them (tests/peer/data).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/generate.h"
#include "engine/perplexity.h"
#include "peer/fixtures.h"
#include "support/support.h"

namespace minfer {
namespace {

namespace fs = std::filesystem;
using engine::TokenId;
using nlohmann::json;

json recorded(const char* file) {
    return json::parse(test::read_file(test::source_dir() / "tests" / "peer" / "data" / file));
}

// The recorder's shell took the newlines off the end of a text.
std::string without_last_newlines(std::string text) {
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

// The continuation as tokens, by splitting the whole text: the path along which the choices are compared.
struct Path {
    std::vector<TokenId> tokens;
    size_t n_prompt = 0;
};

Path path_of(const tokenizer::Tokenizer& tokenizer, const std::string& prompt, const std::string& text) {
    Path path{tokenizer.encode(prompt + text), tokenizer.encode(prompt).size()};
    return path;
}

// By how much the recorded token of each step is ahead of every other one. Where all are, a greedy generation gives the
// recorded text, for logits do not depend on how tokens came into the context.
std::vector<float> margins(engine::Engine& engine, const Path& path) {
    engine::Batch batch;
    for (size_t i = 0; i + 1 < path.tokens.size(); ++i) batch.push_back({path.tokens[i], 0, i + 1 >= path.n_prompt});
    std::vector<float> out;
    engine.sequences().clear();
    engine.run(batch, [&](const engine::Engine::Logits& logits) {
        const size_t n_vocab = engine.n_vocab();
        for (size_t i = 0; i < logits.rows.size(); ++i) {
            const std::span<const float> row = logits.values.subspan(i * n_vocab, n_vocab);
            const auto chosen = size_t(path.tokens[logits.rows[i] + 1]);
            float best = -INFINITY;
            for (size_t id = 0; id < n_vocab; ++id)
                if (id != chosen) best = std::max(best, row[id]);
            out.push_back(row[chosen] - best);
        }
    });
    return out;
}

// Rounding activations to 8 bits is chaotic: a change of one float's last bit in the first layer makes other values
// round up further on, and moves these models' logits by 0.3 at the end, as a second run of llama.cpp on another CPU
// does. So a text may leave the recorded one where two tokens all but tie, and nowhere else; and a perplexity is off by
// about the divergence that the rounding costs (0.3% for SmolLM2), give or take as much again after 8 chunks. What
// rounding does not hide is held tightly by FromF32Weights below.
constexpr float kNearTie = 0.25f;

struct Expected {
    const char* model;
    size_t n_same;                       // of the recorded texts come out whole; fixed, for minfer's bits are
    double off_stored = 0, off_f32 = 0;  // bounds of the perplexity's relative distances
    size_t n_f32_chunks = 0;             // to be compared with weights expanded to F32, which is slow
};
constexpr Expected kExpected[] = {
    {"smollm2-135m-instruct-q4_1", 4, 0.006, 0.006, 3},
    {"qwen2.5-coder-0.5b-instruct-q4_k_m", 2, 0.003, 0.005, 1},
};

class RealModel : public testing::TestWithParam<Expected> {
  protected:
    void SetUp() override { MINFER_SKIP_WITHOUT(path()); }
    fs::path path() const { return test::models_dir() / (std::string(GetParam().model) + ".gguf"); }
};

TEST_P(RealModel, GreedyTextIsTheRecordedOneUpToNearTies) {
    const json greedy = recorded("greedy.json");
    engine::Engine engine(path().string(), {.n_ctx = 128});
    size_t n_same = 0;
    for (const json& one : greedy[GetParam().model]) {
        const auto prompt = one["prompt"].get<std::string>(), expected = one["text"].get<std::string>();
        std::string text;
        engine.sequences().clear();
        const engine::Generation g = engine::generate(
            engine, 0, engine.tokenizer().encode(prompt),
            {.n_predict = greedy["n"].get<size_t>(), .sampling = {.greedy = true}},
            [&](std::string_view piece) { text += piece; }, [] { return false; });
        EXPECT_LE(g.tokens.size(), 24u);
        if (without_last_newlines(text) == expected) {
            ++n_same;
            continue;
        }
        const Path path = path_of(engine.tokenizer(), prompt, expected);
        const std::vector<float> ahead = margins(engine, path);
        const auto first = size_t(std::ranges::find_if(ahead, [](float m) { return m < 0; }) - ahead.begin());
        ASSERT_LT(first, ahead.size()) << "the recorded tokens are all ahead, and yet the text is\n" << text;
        EXPECT_GT(ahead[first], -kNearTie) << text;
        EXPECT_EQ(g.tokens.at(first - 1), path.tokens[path.n_prompt + first - 1]);
        fmt::print("'{}' leaves the recorded text at token {}, behind by {:.3f}\n", prompt, first, -ahead[first]);
    }
    EXPECT_EQ(n_same, GetParam().n_same);
}

// Without the rounding of activations all the recorded texts come out, and the recorded perplexities to 0.02%.
TEST_P(RealModel, FromF32Weights) {
    MINFER_SKIP_WITHOUT(test::peer_program("quantize"));
    const fs::path text = test::shared_dir() / "text" / "eval.txt";
    MINFER_SKIP_WITHOUT(text);
    const test::TemporaryFolder folder;
    test::run_peer("quantize", {path(), folder / "f32.gguf", "F32"});
    engine::Engine engine((folder / "f32.gguf").string(), {.n_ctx = engine::kPerplexityChunk});
    for (const json& one : recorded("greedy.json")[GetParam().model]) {
        const auto prompt = one["prompt"].get<std::string>(), expected = one["text"].get<std::string>();
        const Path path = path_of(engine.tokenizer(), prompt, expected);
        const std::vector<float> ahead = margins(engine, path);
        EXPECT_GE(ahead.size(), 23u) << prompt;
        for (size_t i = 0; i < ahead.size(); ++i) EXPECT_GT(ahead[i], 0) << prompt << ", token " << i;
    }
    const json values = recorded("perplexity.json")[GetParam().model]["f32_weights"]["chunks"];
    const engine::Perplexity found = engine::perplexity(engine, engine.tokenizer().encode(test::read_file(text)),
                                                        GetParam().n_f32_chunks, [](size_t, size_t, double) {});
    for (size_t i = 0; i < found.chunks.size(); ++i)
        EXPECT_LE(std::abs(found.chunks[i] / values[i].get<double>() - 1), 2e-4) << i << ": " << found.chunks[i];
}

// After each chunk from the 8th.
TEST_P(RealModel, PerplexityIsTheRecordedOne) {
    const fs::path text = test::shared_dir() / "text" / "eval.txt";
    MINFER_SKIP_WITHOUT(text);
    constexpr size_t kChunks = 8;
    const json values = recorded("perplexity.json")[GetParam().model];
    engine::Engine engine(path().string(), {.n_ctx = engine::kPerplexityChunk});
    const std::vector<TokenId> tokens = engine.tokenizer().encode(test::read_file(text));
    EXPECT_EQ(tokens.size() / engine::kPerplexityChunk, values["as_stored"]["chunks"].size());
    const engine::Perplexity found = engine::perplexity(engine, tokens, kChunks, [](size_t, size_t, double) {});
    ASSERT_EQ(found.chunks.size(), kChunks);
    for (size_t i = 7; i < found.chunks.size(); ++i) {
        const auto stored = values["as_stored"]["chunks"][i].get<double>();
        const auto f32 = values["f32_weights"]["chunks"][i].get<double>();
        EXPECT_LE(std::abs(found.chunks[i] / stored - 1), GetParam().off_stored)
            << i << ": " << found.chunks[i] << " " << stored;
        EXPECT_LE(std::abs(found.chunks[i] / f32 - 1), GetParam().off_f32)
            << i << ": " << found.chunks[i] << " " << f32;
    }
}

INSTANTIATE_TEST_SUITE_P(Models, RealModel, testing::ValuesIn(kExpected), [](const auto& p) {
    return std::string_view(p.param.model).starts_with("smollm2") ? "smollm2" : "qwen2";
});

}  // namespace
}  // namespace minfer
