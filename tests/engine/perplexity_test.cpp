#include "engine/perplexity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "model/tiny_file.h"
#include "support/support.h"

namespace minfer::engine {
namespace {

TEST(LogSoftmax, IsThatOfTheCLibraryWithinRounding) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0, 5);
    for (int round = 0; round < 100; ++round) {
        std::vector<float> logits(1 + random() % 2000);
        for (float& x : logits) x = normal(random);
        long double sum = 0;
        for (const float x : logits) sum += expl(x);
        const size_t id = random() % logits.size();
        EXPECT_NEAR(log_softmax(logits, TokenId(id)), double(logits[id] - logl(sum)), 1e-12);
    }
    EXPECT_EQ(log_softmax(std::vector<float>{0, -INFINITY}, 0), 0);
    EXPECT_EQ(log_softmax(std::vector<float>{0, -INFINITY}, 1), -INFINITY);
    EXPECT_NEAR(log_softmax(std::vector<float>{1000, 1000}, 1), -std::log(2.0), 1e-12);
}

class PerplexityTest : public testing::Test {
  protected:
    Engine engine(bool with_bos) {
        test::TinyFile f = test::tiny_file("llama", {.n_vocab = 258});
        test::add_byte_tokenizer(f);
        if (with_bos) {
            f.set("tokenizer.ggml.add_bos_token", gguf::Value::scalar(true));
            f.set("tokenizer.ggml.bos_token_id", gguf::Value::scalar(uint32_t(257)));
        }
        f.write(folder_ / "model.gguf");
        return Engine((folder_ / "model.gguf").string(), {.n_ctx = kPerplexityChunk, .n_threads = 2});
    }

    static std::vector<TokenId> tokens(size_t n) {
        std::mt19937 random(9);
        std::vector<TokenId> ids(n);
        for (TokenId& id : ids) id = TokenId(random() % 256);
        return ids;
    }

    test::TemporaryFolder folder_;
};

// By hand, from the logits of each chunk run by itself.
TEST_F(PerplexityTest, ScoresTheSecondHalfOfEachChunk) {
    for (const bool with_bos : {false, true}) {
        Engine e = engine(with_bos);
        const std::vector<TokenId> ids = tokens(2 * 512 + 100);
        std::vector<size_t> told;
        const Perplexity p = perplexity(e, ids, 0, [&](size_t done, size_t total, double) {
            told.push_back(done);
            EXPECT_EQ(total, 2u);
        });
        EXPECT_THAT(told, testing::ElementsAre(1, 2));
        EXPECT_EQ(e.sequences().length(0), 0);
        double sum = 0;
        for (size_t chunk = 0; chunk < 2; ++chunk) {
            Batch batch;
            for (size_t i = 0; i < 512; ++i)
                batch.push_back({i == 0 && with_bos ? 257 : ids[chunk * 512 + i], 0, true});
            e.run(batch, [&](const Engine::Logits& l) {
                for (size_t i = 0; i < l.rows.size(); ++i) {
                    if (l.rows[i] < 256 || l.rows[i] > 510) continue;
                    sum -= log_softmax(l.values.subspan(i * 258, 258), ids[chunk * 512 + l.rows[i] + 1]);
                }
            });
            e.sequences().clear();
            EXPECT_NEAR(p.chunks[chunk], std::exp(sum / double((chunk + 1) * 255)), 1e-9);
        }
        EXPECT_NEAR(p.nll, sum / 510, 1e-12);
        EXPECT_EQ(p.perplexity, p.chunks.back());
    }
}

TEST_F(PerplexityTest, AtMostTheChunksAskedFor) {
    Engine e = engine(false);
    const auto ignore = [](size_t, size_t, double) {};
    const std::vector<TokenId> ids = tokens(2000);
    const Perplexity all = perplexity(e, ids, 0, ignore), one = perplexity(e, ids, 1, ignore);
    EXPECT_EQ(all.chunks.size(), 3u);
    EXPECT_EQ(one.chunks, std::vector<double>{all.chunks[0]});
    EXPECT_THAT([&] { perplexity(e, tokens(511), 0, ignore); },
                testing::ThrowsMessage<ShapeError>(testing::HasSubstr("the text has 511 tokens")));
    EXPECT_FALSE(all.interrupted);
}

TEST_F(PerplexityTest, StopsWhenInterrupted) {
    Engine e = engine(false);
    size_t n_done = 0;
    const Perplexity p = perplexity(
        e, tokens(2000), 0, [&](size_t done, size_t, double) { n_done = done; }, [&] { return n_done == 2; });
    EXPECT_TRUE(p.interrupted);
    EXPECT_EQ(p.chunks.size(), 2u);
    EXPECT_EQ(e.sequences().length(0), 0);
}

}  // namespace
}  // namespace minfer::engine
