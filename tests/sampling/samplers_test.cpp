// Each sampler by itself: which candidates survive, and with which logits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "sampling/sampler.h"

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

TEST(RepeatPenalty, LowersTokensOfTheWindowOnly) {
    const auto sampler = repeat_penalty(2.0f, 3);
    for (const int32_t token : {0, 1, 2, 3, 1}) sampler->accept(token);  // the window: 2 3 1
    Candidates c = candidates({4, 4, -4, 0, 4});
    sampler->apply(c);
    EXPECT_THAT(logits(c), ElementsAre(4, 2, -8, 0, 4));
    EXPECT_FALSE(c.sorted);
    sampler->accept(4);
    sampler->accept(4);  // 1 4 4
    sampler->accept(4);  // 4 4 4: a token that stands in the window twice stays when one of them leaves
    c = candidates({4, 4, -4, 0, 4});
    sampler->apply(c);
    EXPECT_THAT(logits(c), ElementsAre(4, 4, -4, 0, 2));
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
