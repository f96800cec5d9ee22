// Whole chains: what is drawn, how often, and that it never changes.
#include "sampling/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace minfer::sampling {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<float> some_logits(size_t n) {
    std::vector<float> l(n);
    uint32_t state = 12345;
    for (float& x : l) {
        state = state * 1664525u + 1013904223u;
        x = float(int32_t(state)) * 0x1p-29f;  // -4 to 4, exact
    }
    return l;
}

TEST(Chain, GreedyTakesTheSmallestIdOfEqualLogits) {
    Chain chain({.greedy = true});
    EXPECT_EQ(chain.sample(std::vector<float>{1, 7, 3, 7}), 1);
    Chain cold({.temperature = 0});
    EXPECT_EQ(cold.sample(std::vector<float>{1, 7, 3, 7}), 1);
}

TEST(Chain, PenaltyWorksBeforeGreedy) {
    Chain chain({.greedy = true, .repeat_penalty = 2});
    const std::vector<float> l = {1, 7, 5, 4};
    EXPECT_EQ(chain.sample(l), 1);
    chain.accept(1);
    EXPECT_EQ(chain.sample(l), 2);
    chain.accept(2);
    EXPECT_EQ(chain.sample(l), 3);
}

// The drawn frequencies against the probabilities that the parameters imply: Pearson's chi-square.
TEST(Chain, DrawsWithTheRightProbabilities) {
    const std::vector<float> l = {0.5f, 2.0f, -1.0f, 1.5f, 1.0f, 0.0f};
    for (const float temperature : {0.5f, 1.0f, 2.0f}) {
        Chain chain({.temperature = temperature, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 3});
        constexpr int kDraws = 200000;
        std::vector<int> count(l.size());
        for (int i = 0; i < kDraws; ++i) ++count[size_t(chain.sample(l))];
        double total = 0;
        for (const float x : l) total += std::exp(double(x) / double(temperature));
        double chi2 = 0;
        for (size_t i = 0; i < l.size(); ++i) {
            const double expected = kDraws * std::exp(double(l[i]) / double(temperature)) / total;
            chi2 += (count[i] - expected) * (count[i] - expected) / expected;
        }
        EXPECT_LT(chi2, 20.5) << temperature;  // 5 degrees of freedom: exceeded once in 1000
    }
}

TEST(Chain, NeverDrawsWhatHasNoProbability) {
    Chain chain({.top_k = 0, .top_p = 1, .min_p = 0, .seed = 1});
    const std::vector<float> l = {-INFINITY, 0.0f, -INFINITY};
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(chain.sample(l), 1);
}

// Recorded once: a change of any bit on the way from logits to draws shows here, on every machine and compiler.
TEST(Chain, TheSameSeedGivesTheSameTokens) {
    Chain chain({.temperature = 0.9f, .top_k = 50, .repeat_penalty = 1.1f, .seed = 42});
    const std::vector<float> l = some_logits(1000);
    std::vector<int32_t> drawn;
    for (int i = 0; i < 12; ++i) {
        drawn.push_back(chain.sample(l));
        chain.accept(drawn.back());
    }
    EXPECT_THAT(drawn, testing::ElementsAre(338, 375, 339, 231, 610, 139, 138, 990, 155, 15, 491, 389));
}

TEST(Chain, RefusesParametersByName) {
    EXPECT_THAT([] { Chain({.temperature = -1}); },
                ThrowsMessage<UsageError>("temperature: found -1, expected 0 to 1000000"));
    EXPECT_THAT([] { Chain({.temperature = NAN}); }, ThrowsMessage<UsageError>(HasSubstr("temperature: found nan")));
    EXPECT_THAT([] { Chain({.top_k = -1}); }, ThrowsMessage<UsageError>(HasSubstr("top-k")));
    EXPECT_THAT([] { Chain({.top_p = 0}); }, ThrowsMessage<UsageError>(HasSubstr("top-p")));
    EXPECT_THAT([] { Chain({.top_p = 1.5f}); }, ThrowsMessage<UsageError>(HasSubstr("top-p")));
    EXPECT_THAT([] { Chain({.min_p = 2}); }, ThrowsMessage<UsageError>(HasSubstr("min-p")));
    EXPECT_THAT([] { Chain({.repeat_penalty = 0}); }, ThrowsMessage<UsageError>(HasSubstr("repeat penalty")));
    EXPECT_THAT([] { Chain({.repeat_last_n = -1}); }, ThrowsMessage<UsageError>(HasSubstr("repeat window")));
}

}  // namespace
}  // namespace minfer::sampling
