// Whole chains: what is drawn, how often, and that it never changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "sampling/make_sampler.h"
#include "tokenizer/small_vocabulary.h"

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

class Chains : public testing::Test {
  protected:
    Chain chain(const SamplerParams& params) const { return make_sampler(params, vocabulary_); }

    test::SmallVocabulary small_{"qwen2"};
    tokenizer::Tokenizer tokenizer_{small_.vocabulary};
    SamplerVocabulary vocabulary_{tokenizer_};
};

TEST_F(Chains, GreedyTakesTheSmallestIdOfEqualLogits) {
    Chain chain = this->chain({.greedy = true});
    EXPECT_EQ(chain.sample(std::vector<float>{1, 7, 3, 7}), 1);
    Chain cold = this->chain({.temperature = 0});
    EXPECT_EQ(cold.sample(std::vector<float>{1, 7, 3, 7}), 1);
}

TEST_F(Chains, PenaltyWorksBeforeGreedy) {
    Chain chain = this->chain({.greedy = true, .repeat_penalty = 2});
    const std::vector<float> l = {1, 7, 5, 4};
    EXPECT_EQ(chain.sample(l), 1);
    chain.accept(1);
    EXPECT_EQ(chain.sample(l), 2);
    chain.accept(2);
    EXPECT_EQ(chain.sample(l), 3);
}

// The drawn frequencies against the probabilities that the parameters imply: Pearson's chi-square.
TEST_F(Chains, DrawsWithTheRightProbabilities) {
    const std::vector<float> l = {0.5f, 2.0f, -1.0f, 1.5f, 1.0f, 0.0f};
    for (const float temperature : {0.5f, 1.0f, 2.0f}) {
        Chain chain = this->chain({.temperature = temperature, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 3});
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

TEST_F(Chains, NeverDrawsWhatHasNoProbability) {
    Chain chain = this->chain({.top_k = 0, .top_p = 1, .min_p = 0, .seed = 1});
    const std::vector<float> l = {-INFINITY, 0.0f, -INFINITY};
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(chain.sample(l), 1);
}

// The same with steps that draw or learn themselves, against probabilities worked out by hand.
TEST_F(Chains, XtcAndMirostatDrawWithTheRightProbabilities) {
    // 0.4, 0.3, 0.2, 0.1
    const std::vector<float> l = {std::log(0.4f), std::log(0.3f), std::log(0.2f), std::log(0.1f)};
    const auto chi2 = [&](Chain chain, const std::vector<double>& p) {
        constexpr int kDraws = 200000;
        std::vector<int> count(l.size());
        for (int i = 0; i < kDraws; ++i) ++count[size_t(chain.sample(l))];
        double sum = 0;
        for (size_t i = 0; i < l.size(); ++i) sum += std::pow(count[i] - kDraws * p[i], 2) / (kDraws * p[i]);
        return sum;
    };
    const SamplerParams plain = {.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 11};
    SamplerParams p = plain;
    p.xtc_probability = 0.5f;
    p.xtc_threshold = 0.15f;  // half of the time 0.2 and 0.1 alone are left
    EXPECT_LT(chi2(chain(p), {0.2, 0.15, 0.1 + 1.0 / 3, 0.05 + 1.0 / 6}), 16.3);  // 3 degrees of freedom: 1 in 1000
    p = plain;
    p.mirostat = 2;
    p.mirostat_rate = 0;
    p.mirostat_entropy = 10;  // mu stays at 20 bits: all of them
    EXPECT_LT(chi2(chain(p), {0.4, 0.3, 0.2, 0.1}), 16.3);
    p = plain;
    p.typical_p = 0.35f;  // surprises 1.32, 1.74, 2.32, 3.32 bits of 1.85: the second, then the third
    p.samplers = parse_samplers("typ_p");
    Chain typical = chain(p);
    int count[4] = {};
    for (int i = 0; i < 50000; ++i) ++count[typical.sample(l)];
    EXPECT_EQ(count[0] + count[3], 0);
    EXPECT_NEAR(count[1], 30000, 3.3 * std::sqrt(50000 * 0.24));
}

// The algorithm's own bookkeeping beside it: no token above mu is drawn, and the mean surprise becomes what was asked
// for.
TEST_F(Chains, MirostatHoldsTheSurprise) {
    const std::vector<float> l = some_logits(1000);
    double total = 0;
    for (const float x : l) total += std::exp(double(x));
    const auto p = [&](size_t i) { return std::exp(double(l[i])) / total; };
    for (const double wanted : {3.0, 6.0}) {
        Chain chain = this->chain({.temperature = 1, .mirostat = 2, .mirostat_entropy = float(wanted), .seed = 4});
        double mu = 2 * wanted, sum = 0;
        for (int i = 0; i < 2000; ++i) {
            const double drawn = p(size_t(chain.sample(l)));
            double left = 0;
            for (size_t j = 0; j < l.size(); ++j)
                if (-std::log2(p(j)) <= mu) left += p(j);
            if (left == 0) left = p(size_t(std::ranges::max_element(l) - l.begin()));  // then the best alone is drawn
            const double surprise = -std::log2(drawn / left);
            EXPECT_GE(surprise, -1e-9) << "what was drawn is among those left";
            mu -= 0.1 * (surprise - wanted);
            if (i >= 500) sum += surprise;
        }
        EXPECT_NEAR(sum / 1500, wanted, 0.1);
    }
}

TEST_F(Chains, SamplersRunInTheirOrder) {
    // Of 0.5, 0.3, 0.2 at temperature 0.1 the first has nearly everything; before it, 0.5 alone is short of 0.6.
    const std::vector<float> l = {std::log(0.5f), std::log(0.3f), std::log(0.2f)};
    const auto drawn = [&](const char* samplers) {
        SamplerParams p = {.temperature = 0.1f, .top_k = 0, .top_p = 0.6f, .min_p = 0, .seed = 2};
        p.samplers = parse_samplers(samplers);
        Chain c = chain(p);
        std::vector<int> count(3);
        for (int i = 0; i < 3000; ++i) ++count[size_t(c.sample(l))];
        return count;
    };
    EXPECT_EQ(drawn("temperature;top_p")[1], 0);
    EXPECT_GT(drawn("top_p;temperature")[1], 5);
    EXPECT_EQ(drawn("top_p;temperature")[2], 0);
    EXPECT_GT(drawn("")[2], 500) << "no sampler at all";
}

// Recorded once: a change of any bit on the way from logits to draws shows here, on every machine and compiler.
TEST_F(Chains, TheSameSeedGivesTheSameTokens) {
    Chain chain = this->chain({.temperature = 0.9f, .top_k = 50, .repeat_penalty = 1.1f, .seed = 42});
    const std::vector<float> l = some_logits(1000);
    std::vector<int32_t> drawn;
    for (int i = 0; i < 12; ++i) {
        drawn.push_back(chain.sample(l));
        chain.accept(drawn.back());
    }
    EXPECT_THAT(drawn, testing::ElementsAre(338, 375, 339, 231, 610, 139, 138, 990, 155, 15, 491, 389));
}

TEST_F(Chains, RefusesParametersByName) {
    EXPECT_THAT([&] { chain({.temperature = -1}); },
                ThrowsMessage<UsageError>("temperature: found -1, expected 0 to 1000000"));
    EXPECT_THAT([&] { chain({.temperature = NAN}); }, ThrowsMessage<UsageError>(HasSubstr("temperature: found nan")));
    EXPECT_THAT([&] { chain({.top_k = -1}); }, ThrowsMessage<UsageError>(HasSubstr("top-k")));
    EXPECT_THAT([&] { chain({.top_p = 0}); }, ThrowsMessage<UsageError>(HasSubstr("top-p")));
    EXPECT_THAT([&] { chain({.top_p = 1.5f}); }, ThrowsMessage<UsageError>(HasSubstr("top-p")));
    EXPECT_THAT([&] { chain({.min_p = 2}); }, ThrowsMessage<UsageError>(HasSubstr("min-p")));
    EXPECT_THAT([&] { chain({.repeat_penalty = 0}); }, ThrowsMessage<UsageError>(HasSubstr("repeat penalty")));
    EXPECT_THAT([&] { chain({.repeat_last_n = -1}); }, ThrowsMessage<UsageError>(HasSubstr("repeat window")));
    EXPECT_THAT([&] { chain({.mirostat = 1}); }, ThrowsMessage<UsageError>("mirostat: found 1, expected 0 (off) or 2"));
    EXPECT_THAT([&] { chain({.top_n_sigma = -2}); }, ThrowsMessage<UsageError>(HasSubstr("top-n-sigma: found -2")));
    EXPECT_THAT([&] { chain({.xtc_threshold = 1.1f}); }, ThrowsMessage<UsageError>(HasSubstr("xtc threshold")));
    EXPECT_THAT([&] { chain({.dry = {.base = 0.5f}}); }, ThrowsMessage<UsageError>(HasSubstr("dry base: found 0.5")));
    EXPECT_THAT([&] { chain({.logit_bias = {{275, 1}}}); },
                ThrowsMessage<UsageError>("logit bias: found token 275, expected 0 to 274"));
    EXPECT_THAT([&] { chain({.grammar = "root ::= \"a\"", .json_schema = "{}"}); },
                ThrowsMessage<UsageError>(HasSubstr("one of them")));
}

TEST(Params, SamplersByName) {
    EXPECT_EQ(sampler_names(default_samplers()), "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature");
    EXPECT_EQ(sampler_names(parse_samplers("min_p;top_k")), "min_p;top_k");
    EXPECT_TRUE(parse_samplers("").empty());
    EXPECT_THAT([] { parse_samplers("top_k;top-p"); },
                ThrowsMessage<UsageError>(HasSubstr("samplers: found 'top-p', expected names of penalties;dry;")));
    EXPECT_THAT([] { parse_samplers("top_k;min_p;top_k"); },
                ThrowsMessage<UsageError>("samplers: found 'top_k' twice"));
}

TEST(Params, LogitBiasAsWritten) {
    EXPECT_EQ(parse_logit_bias("15043+1.5").token, 15043);
    EXPECT_EQ(parse_logit_bias("15043+1.5").bias, 1.5f);
    EXPECT_EQ(parse_logit_bias("7-2").bias, -2.0f);
    EXPECT_EQ(parse_logit_bias("7-inf").bias, -INFINITY);
    for (const char* text : {"", "7", "7*2", "+1", "7+", "7+-1", "7++1", "7--1", "7+1x", "x+1", "99999999999+1"})
        EXPECT_THROW(parse_logit_bias(text), UsageError) << text;
    EXPECT_THROW(check({.logit_bias = {parse_logit_bias("7+inf")}}), UsageError);
    EXPECT_THROW(check({.logit_bias = {parse_logit_bias("7+nan")}}), UsageError);
}

}  // namespace
}  // namespace minfer::sampling
