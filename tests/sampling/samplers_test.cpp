// Each sampler by itself: which candidates survive, and with which logits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "sampling/sampler.h"
#include "tokenizer/small_vocabulary.h"
#include "tokenizer/tokenizer.h"

namespace minfer::sampling {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

Candidates candidates(const std::vector<float>& logits) {
    Candidates c;
    c.assign(logits);
    return c;
}

std::vector<int32_t> ids(const Candidates& c) {
    std::vector<int32_t> out;
    for (const Candidate& item : c.items) out.push_back(item.id);
    return out;
}

std::vector<float> logits(const Candidates& c) {
    std::vector<float> out;
    for (const Candidate& item : c.items) out.push_back(item.logit);
    return out;
}

TEST(TopK, KeepsTheBestWithTiesById) {
    Candidates c = candidates({1, 3, 2, 3, 2});
    top_k(4)->apply(c);
    EXPECT_THAT(ids(c), ElementsAre(1, 3, 2, 4));
    top_k(3)->apply(c);
    EXPECT_THAT(ids(c), ElementsAre(1, 3, 2));
    top_k(0)->apply(c);
    top_k(9)->apply(c);
    EXPECT_THAT(ids(c), ElementsAre(1, 3, 2));
}

TEST(TopP, KeepsTheFewestThatReachTheShare) {
    // Probabilities 0.5, 0.25, 0.125, 0.125 of ids 2, 0, 1, 3.
    const std::vector<float> l = {std::log(0.25f), std::log(0.125f), std::log(0.5f), std::log(0.125f)};
    const auto kept = [&](float p) {
        Candidates c = candidates(l);
        top_p(p)->apply(c);
        return ids(c);
    };
    EXPECT_THAT(kept(0.01f), ElementsAre(2));
    EXPECT_THAT(kept(0.49f), ElementsAre(2));
    EXPECT_THAT(kept(0.51f), ElementsAre(2, 0));
    EXPECT_THAT(kept(0.74f), ElementsAre(2, 0));
    EXPECT_THAT(kept(0.76f), ElementsAre(2, 0, 1));
    EXPECT_THAT(kept(0.99f), ElementsAre(2, 0, 1, 3));
}

TEST(MinP, KeepsWhatIsLikelyEnoughRelativeToTheBest) {
    Candidates c = candidates({0.0f, std::log(0.5f), std::log(0.11f), std::log(0.09f), -INFINITY});
    min_p(0.1f)->apply(c);
    EXPECT_THAT(ids(c), UnorderedElementsAre(0, 1, 2));
    min_p(1.0f)->apply(c);
    EXPECT_THAT(ids(c), ElementsAre(0));
}

TEST(Temperature, DividesOrTakesTheBest) {
    Candidates c = candidates({1, 4, -2, 4});
    temperature(0.5f)->apply(c);
    EXPECT_THAT(logits(c), ElementsAre(2, 8, -4, 8));
    temperature(0)->apply(c);
    EXPECT_THAT(ids(c), ElementsAre(1));
}

TEST(Candidates, OfAMask) {
    Candidates c;
    std::vector<float> l(200);
    for (size_t i = 0; i < l.size(); ++i) l[i] = float(i);
    c.assign(l, std::vector<uint64_t>{uint64_t(1) << 63 | 1, ~uint64_t(0), 0, ~uint64_t(0)});
    ASSERT_EQ(c.items.size(), 2u + 64 + 8);
    EXPECT_EQ(c.items[1].id, 63);
    EXPECT_EQ(c.items[2].id, 64);
    EXPECT_EQ(c.items.back().id, 199);
    EXPECT_EQ(c.items.back().logit, 199);
    EXPECT_EQ(c.find(192)->logit, 192);
    EXPECT_EQ(c.find(62), nullptr);
    c.assign(l, std::vector<uint64_t>{});
    EXPECT_TRUE(c.items.empty());
}

TEST(Candidates, SortsTheBestInSteps) {
    std::vector<float> l(3000);
    std::mt19937 random(1);
    for (float& x : l) x = float(random() % 500);
    Candidates whole = candidates(l), steps = candidates(l);
    whole.sort();
    steps.sort_best(0, 10);
    steps.sort_best(10, 900);
    EXPECT_EQ(steps.order, Candidates::Order::Other);
    for (size_t i = 0; i < 900; ++i) ASSERT_EQ(steps.items[i].id, whole.items[i].id) << i;
    steps.sort_best(900, 3000);
    EXPECT_EQ(steps.order, Candidates::Order::Best);
    EXPECT_EQ(ids(steps), ids(whole));
}

TEST(LogitBias, AddsOrForbids) {
    const std::vector<LogitBias> biases = {{1, 2.5f}, {3, -INFINITY}, {0, -1}, {7, 1}};
    Candidates c = candidates({1, 3, 2, 3});
    logit_bias(biases)->apply(c);
    EXPECT_THAT(ids(c), ElementsAre(0, 1, 2));
    EXPECT_THAT(logits(c), ElementsAre(0, 5.5f, 2));
    c.items = {{3, 1}};
    logit_bias(biases)->apply(c);
    EXPECT_THAT(ids(c), ElementsAre(3)) << "something must be left to draw";
}

TEST(Penalties, LowerTokensOfTheWindowOnly) {
    const auto sampler = penalties(3, 2.0f, 0, 0);
    for (const int32_t token : {0, 1, 2, 3, 1}) sampler->accept(token);  // the window: 2 3 1
    Candidates c = candidates({4, 4, -4, 0, 4});
    sampler->apply(c);
    EXPECT_THAT(logits(c), ElementsAre(4, 2, -8, 0, 4));
    sampler->accept(4);
    sampler->accept(4);  // 1 4 4
    sampler->accept(4);  // 4 4 4: a token that stands in the window twice stays when one of them leaves
    c = candidates({4, 4, -4, 0, 4});
    sampler->apply(c);
    EXPECT_THAT(logits(c), ElementsAre(4, 4, -4, 0, 2));
    c.sort();
    sampler->apply(c);
    EXPECT_EQ(c.order, Candidates::Order::Other) << "the best may no longer come first";
}

TEST(Penalties, FrequencyCountsAndPresenceDoesNot) {
    const auto sampler = penalties(10, 1.0f, 0.5f, 0.25f);
    for (const int32_t token : {1, 1, 2, 1}) sampler->accept(token);
    for (int twice = 0; twice < 2; ++twice) {  // a draw must not wear the counts out
        Candidates c = candidates({4, 4, 4});
        sampler->apply(c);
        EXPECT_THAT(logits(c), ElementsAre(4, 4 - 1.5f - 0.25f, 4 - 0.5f - 0.25f));
    }
}

TEST(Typical, KeepsWhatIsAsSurprisingAsExpected) {
    // 0.5, 0.25, 0.125, 0.125: an entropy of 1.75 bits; the distances are 0.75, 0.25, 1.25, 1.25.
    const std::vector<float> l = {std::log(0.125f), std::log(0.5f), std::log(0.25f), std::log(0.125f)};
    const auto kept = [&](float p) {
        Candidates c = candidates(l);
        typical(p)->apply(c);
        return ids(c);
    };
    EXPECT_THAT(kept(0.2f), ElementsAre(2));
    EXPECT_THAT(kept(0.26f), ElementsAre(2, 1));
    EXPECT_THAT(kept(0.76f), ElementsAre(2, 1, 0));
}

TEST(TopNSigma, CountsDeviationsFromTheBest) {
    const std::vector<float> l = {2, 4, 4, 4, 5, 5, 7, 9, -INFINITY};  // without the last: mean 5, deviation 2
    for (const auto& [n, left] :
         std::vector<std::pair<float, size_t>>{{0.99f, 1}, {1, 2}, {2, 4}, {2.5f, 7}, {3.5f, 8}}) {
        Candidates c = candidates(l);
        top_n_sigma(n)->apply(c);
        EXPECT_EQ(c.items.size(), left) << n;
    }
}

TEST(Xtc, ExcludesTopChoicesButTheLast) {
    // 0.4, 0.3, 0.2, 0.1
    const std::vector<float> l = {std::log(0.1f), std::log(0.4f), std::log(0.2f), std::log(0.3f)};
    const auto kept = [&](float threshold) {
        Candidates c = candidates(l);
        xtc(1, threshold, 0)->apply(c);
        return ids(c);
    };
    EXPECT_THAT(kept(0.15f), ElementsAre(0, 2));
    EXPECT_THAT(kept(0.25f), ElementsAre(0, 2, 3));
    EXPECT_THAT(kept(0.35f), ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(kept(0.45f), ElementsAre(0, 1, 2, 3));
    const auto sometimes = xtc(0.25f, 0.15f, 9);
    int excluded = 0;
    for (int i = 0; i < 10000; ++i) {
        Candidates c = candidates(l);
        sometimes->apply(c);
        excluded += c.items.size() == 2;
    }
    EXPECT_NEAR(excluded, 2500, 3.3 * std::sqrt(10000 * 0.25 * 0.75));  // once in 1000
}

TEST(DynamicTemperature, FollowsTheEntropy) {
    Candidates flat = candidates({1, 1, 1, 1});  // the largest entropy: the highest temperature
    dynamic_temperature(1.0f, 0.5f, 2.0f)->apply(flat);
    EXPECT_NEAR(flat.items[0].logit, 1 / 1.5, 1e-6);
    Candidates sure = candidates({200, 0, 0, 0});
    dynamic_temperature(1.0f, 0.5f, 2.0f)->apply(sure);
    EXPECT_NEAR(sure.items[0].logit, 200 / 0.5, 1e-4);
    Candidates half = candidates({100, 100, 0, 0});  // one bit of two
    dynamic_temperature(1.0f, 1.0f, 2.0f)->apply(half);
    EXPECT_NEAR(half.items[0].logit, 100 / (2 * 0.25), 1e-4);
    dynamic_temperature(0.0f, 1.0f, 1.0f)->apply(sure);
    EXPECT_THAT(ids(sure), ElementsAre(0)) << "a temperature of 0 leaves the best";
}

TEST(Mirostat, LearnsFromWhatWasDrawn) {
    const std::vector<float> l = {std::log(0.5f), std::log(0.25f), std::log(0.125f), std::log(0.125f)};  // 1 2 3 3 bits
    const auto sampler = mirostat(1.25f, 0.5f);                                                          // mu = 2.5
    Candidates c = candidates(l);
    sampler->apply(c);
    EXPECT_THAT(ids(c), ElementsAre(0, 1));
    sampler->drawn(0.5);  // 1 bit: mu = 2.5 + 0.5 * 0.25
    sampler->drawn(0.5);
    sampler->drawn(0.5);
    sampler->drawn(0.5);
    sampler->drawn(0.5);  // mu = 3.125
    c = candidates(l);
    sampler->apply(c);
    EXPECT_THAT(ids(c), ElementsAre(0, 1, 2, 3));
    sampler->drawn(0x1p-20);
    c = candidates(l);
    sampler->apply(c);
    EXPECT_THAT(ids(c), ElementsAre(0)) << "mu is below zero";
}

class DryTest : public testing::Test {
  protected:
    // The penalties after this text, a byte a token.
    std::vector<float> penalties_after(const DryParams& params, const std::string& text) const {
        const auto sampler = dry(params, tokenizer_);
        for (const char c : text) sampler->accept(uint8_t(c));
        Candidates c = candidates(std::vector<float>(tokenizer_.n_vocab()));
        sampler->apply(c);
        return logits(c);
    }
    float penalty(const DryParams& params, const std::string& text, char token) const {
        return -penalties_after(params, text)[uint8_t(token)];
    }
    test::SmallVocabulary small_{"qwen2"};
    tokenizer::Tokenizer tokenizer_{small_.vocabulary};
};

TEST_F(DryTest, PenalizesWhatWouldGoOnWithARepetition) {
    const DryParams p = {.multiplier = 3, .base = 2, .allowed_length = 2, .last_n = 100, .breakers = {"\n"}};
    EXPECT_EQ(penalty(p, "abcdabc", 'd'), 3 * 2);  // 3 tokens repeated, one more than allowed
    EXPECT_EQ(penalty(p, "abcdabc", 'c'), 0);
    EXPECT_EQ(penalty(p, "abcdbc", 'd'), 3);  // just 2
    EXPECT_EQ(penalty(p, "abcdc", 'd'), 0);
    EXPECT_EQ(penalty(p, "bcxabcdabc", 'x'), 3);  // another way to go on
    EXPECT_EQ(penalty(p, "bcxabcdabc", 'd'), 6);
    EXPECT_EQ(penalty(p, "aaaaa", 'a'), 3 * 4);  // 4 tokens, which overlap
    EXPECT_EQ(penalty(p, "abcda\nbc", 'd'), 3);  // the a lies beyond a breaker
    EXPECT_EQ(penalty(p, "abcdab\nc", 'd'), 0);
    EXPECT_EQ(penalty(p, "abc\nabc", '\n'), 0);  // a breaker itself is never penalized
    EXPECT_EQ(penalty({.multiplier = 3, .base = 2, .last_n = 6, .breakers = {}}, "abcdabc", 'd'), 3)
        << "a is forgotten";
}

// "worx" may be spelled " w" + "orx…": a token that ends with the breaker's start, then its rest.
TEST_F(DryTest, BreakersOfSeveralTokens) {
    const DryParams p = {.multiplier = 1, .base = 2, .allowed_length = 1, .last_n = 100, .breakers = {"xyz"}};
    EXPECT_EQ(penalty(p, "1abcxyzabc", 'x'), 4);
    EXPECT_EQ(penalty(p, "1abcxyabc", 'x'), 4);
    EXPECT_EQ(penalty(p, "xyzabc1xyzabc", '1'), 4) << "what follows the breaker: abc";
    EXPECT_EQ(penalty(p, "xyabc1xyabc", '1'), 16);
}

// Every filter against its definition, word for word, in long double.
TEST(Samplers, SurvivorsOnRandomLogits) {
    std::mt19937 random(11);
    std::normal_distribution<float> normal(0, 3);
    for (int round = 0; round < 200; ++round) {
        std::vector<float> l(1 + random() % 300);
        for (float& x : l) x = std::round(normal(random) * 8) / 8;  // many ties
        std::vector<size_t> order(l.size());
        for (size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::ranges::sort(order, [&](size_t a, size_t b) { return l[a] > l[b] || (l[a] == l[b] && a < b); });
        long double total = 0;
        for (const float x : l) total += expl(x);

        const int k = 1 + int(random() % 40);
        Candidates c = candidates(l);
        top_k(k)->apply(c);
        std::vector<int32_t> expected;
        for (size_t i = 0; i < std::min(order.size(), size_t(k)); ++i) expected.push_back(int32_t(order[i]));
        EXPECT_EQ(k < int(l.size()) ? ids(c) : expected, expected);

        const float p = 0.05f + 0.9f * float(random() % 1000) / 1000;
        c = candidates(l);
        top_p(p)->apply(c);
        expected.clear();
        long double sum = 0;
        for (const size_t i : order) {
            expected.push_back(int32_t(i));
            sum += expl(l[i]);
            if (sum >= (long double)p * total) break;
        }
        EXPECT_EQ(ids(c), expected) << p;

        const float m = 0.001f + 0.3f * float(random() % 1000) / 1000;
        c = candidates(l);
        min_p(m)->apply(c);
        expected.clear();
        for (size_t i = 0; i < l.size(); ++i)
            if (expl(l[i]) >= m * expl(l[order[0]])) expected.push_back(int32_t(i));
        EXPECT_EQ(ids(c), expected) << m;
    }
}

}  // namespace
}  // namespace minfer::sampling
