// Each sampler beside llama.cpp's: which candidates are left, in which order, and how probable they are.
//
// llama.cpp computes in floats. Where a candidate lies so close to a sampler's border that float rounding decides, the
// two may part: such cases are counted, and must be few. Among equal logits llama.cpp leaves open which come first and
// which are cut off; here ids decide, and the test compares logits there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <random>

#include "gguf/reader.h"
#include "sampling/sampler.h"
#include "sampling/softmax.h"
#include "support/support.h"
#include "tokenizer/tokenizer.h"

namespace minfer::sampling {
namespace {

enum Kind : uint32_t {
    kPenalties,
    kDry,
    kTopNSigma,
    kTopK,
    kTypical,
    kTopP,
    kMinP,
    kXtc,
    kTemperature,
    kDynamicTemperature,
    kMirostat,
    kBias
};

struct Left {
    int32_t id;
    float logit;
    double probability;
};

struct Case {
    Kind kind;
    std::vector<float> params;
    std::vector<int32_t> tokens;
    std::vector<float> logits;
};

class Peer : public testing::Test {
  protected:
    static std::filesystem::path program() { return test::oracles_dir() / "peer/samplers"; }

    // What llama.cpp leaves, a list a case.
    std::vector<std::vector<Left>> theirs(const std::vector<Case>& cases, const std::string& model = "") const {
        const test::TemporaryFolder folder;
        std::string in;
        const auto put = [&](const void* data, size_t n) { in.append(static_cast<const char*>(data), 4 * n); };
        const auto put_array = [&](const auto& values) {
            const auto n = uint32_t(values.size());
            put(&n, 1);
            put(values.data(), values.size());
        };
        for (const Case& c : cases) {
            put(&c.kind, 1);
            put_array(c.params);
            put_array(c.tokens);
            put_array(c.logits);
        }
        test::write_file(folder / "cases", in);
        std::vector<std::string> words = {program(), folder / "cases", folder / "out"};
        if (!model.empty()) words.push_back(model);
        const test::Finished done = test::run(words);
        EXPECT_EQ(done.status, 0) << done.err;
        const std::string out = test::read_file(folder / "out");
        std::vector<std::vector<Left>> results;
        for (size_t at = 0; at < out.size();) {
            uint32_t n = 0;
            std::memcpy(&n, &out[at], 4);
            at += 4;
            std::vector<Left>& left = results.emplace_back();
            for (; n > 0; --n, at += 12) {
                Left one{};
                float p = 0;
                std::memcpy(&one.id, &out[at], 4);
                std::memcpy(&one.logit, &out[at + 4], 4);
                std::memcpy(&p, &out[at + 8], 4);
                one.probability = double(p);
                if (one.logit != -INFINITY) left.push_back(one);  // how llama.cpp's top-n-sigma and temperature 0 drop
            }
        }
        EXPECT_EQ(results.size(), cases.size());
        return results;
    }

    static std::vector<Left> ours(const Case& c, Sampler& sampler, Candidates::Order* order = nullptr) {
        Candidates candidates;
        candidates.assign(c.logits);
        for (const int32_t token : c.tokens) sampler.accept(token);
        sampler.apply(candidates);
        std::vector<double> weights;
        const double total = softmax_weights(candidates, weights);
        std::vector<Left> left;
        for (size_t i = 0; i < weights.size(); ++i)
            left.push_back({candidates.items[i].id, candidates.items[i].logit, weights[i] / total});
        if (order) *order = candidates.order;
        return left;
    }

    // Logits of many kinds: normal, with many ties, with one or few peaks, all alike; small and large vocabularies.
    static std::vector<std::vector<float>> some_logits(uint32_t seed) {
        std::mt19937 random(seed);
        std::vector<std::vector<float>> out;
        for (const size_t n : {size_t(2), size_t(40), size_t(1000), size_t(20000), size_t(151936)}) {
            for (const double deviation : {1.0, 3.0, 9.0}) {
                std::normal_distribution<double> normal(0, deviation);
                std::vector<float> l(n);
                for (float& x : l) x = float(normal(random));
                out.push_back(l);
                l[n / 2] += 15;
                out.push_back(l);
                for (float& x : l) x = std::round(x * 4) / 4;
                out.push_back(l);
            }
            out.emplace_back(n, 1.5f);
        }
        return out;
    }

    static void by_id(std::vector<Left>& left) { std::ranges::sort(left, {}, &Left::id); }

    // Whether both left the same logits, and the same tokens but for those whose logit ties with one that was dropped.
    static bool same_candidates(const Case& c, std::vector<Left> a, std::vector<Left> b) {
        if (a.size() != b.size()) return false;
        const auto logits_of = [](const std::vector<Left>& left) {
            std::vector<float> l;
            for (const Left& x : left) l.push_back(x.logit);
            std::ranges::sort(l);
            return l;
        };
        if (logits_of(a) != logits_of(b)) return false;
        by_id(a);
        by_id(b);
        for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
            if (a[i].id == b[j].id) {
                ++i, ++j;
                continue;
            }
            // Of a tie that the border cuts: some tokens with this logit were left, and some not, by each.
            const Left& other = a[i].id < b[j].id ? a[i++] : b[j++];
            const auto n = std::ranges::count(c.logits, c.logits[size_t(other.id)]);
            if (n < 2) return false;
        }
        return true;
    }

    struct Tally {
        size_t cases = 0, parted = 0;
        double worst = 0;  // relative, of a probability
    };

    using Make = std::function<std::unique_ptr<Sampler>(const Case&)>;
    // `tolerance` is the bound of the probabilities' relative difference, beside 1e-9 of an absolute one.
    Tally compare(const std::vector<Case>& cases, const Make& make, double tolerance,
                  const std::string& model = "") const {
        Tally tally;
        const std::vector<std::vector<Left>> all = theirs(cases, model);
        for (size_t i = 0; i < std::min(all.size(), cases.size()); ++i) {
            const std::unique_ptr<Sampler> sampler = make(cases[i]);
            Candidates::Order order{};
            std::vector<Left> mine = ours(cases[i], *sampler, &order);
            std::vector<Left> other = all[i];
            ++tally.cases;
            if (!same_candidates(cases[i], mine, other)) {
                ++tally.parted;
                parted(cases[i], mine, other);
                continue;
            }
            if (order == Candidates::Order::Best) {
                for (size_t k = 0; k < mine.size(); ++k) EXPECT_EQ(mine[k].logit, other[k].logit) << "rank " << k;
            }
            // Ties left to chance: compare by rank among the probabilities.
            std::ranges::sort(mine, std::ranges::greater(), &Left::probability);
            std::ranges::sort(other, std::ranges::greater(), &Left::probability);
            for (size_t k = 0; k < mine.size(); ++k) {
                const double difference = std::fabs(mine[k].probability - other[k].probability);
                EXPECT_LE(difference, tolerance * mine[k].probability + 1e-9) << describe(cases[i]) << " rank " << k;
                if (mine[k].probability > 1e-6) tally.worst = std::max(tally.worst, difference / mine[k].probability);
            }
        }
        RecordProperty("parted", int(tally.parted));
        fmt::print("{} cases, {} parted by float rounding, probabilities within {:.1e}\n", tally.cases, tally.parted,
                   tally.worst);
        return tally;
    }

    static std::string describe(const Case& c) {
        std::string text = fmt::format("sampler {} of {} logits, parameters", uint32_t(c.kind), c.logits.size());
        for (const float p : c.params) text += fmt::format(" {}", p);
        return text;
    }

    // Where the sets differ, the candidates that one has and the other has not must lie at the border: but for one that
    // rounding puts on either side, their share is what a sum of so many floats is off by. By logits, for among equal
    // ones which are left is open.
    static void parted(const Case& c, const std::vector<Left>& mine, const std::vector<Left>& other) {
        std::map<float, std::pair<int, double>, std::greater<>> surplus;
        for (const Left& x : mine) {
            surplus[x.logit].first += 1;
            surplus[x.logit].second = x.probability;
        }
        for (const Left& x : other) {
            surplus[x.logit].first -= 1;
            surplus[x.logit].second = x.probability;
        }
        double share = 0, largest = 0;
        for (const auto& [logit, at] : surplus) {
            share += std::abs(at.first) * at.second;
            if (at.first != 0) largest = std::max(largest, at.second);
        }
        const double bound = c.logits.size() > 20000 ? 2e-3 : 2e-4;
        EXPECT_LE(share - largest, bound) << describe(c) << ": " << mine.size() << " and " << other.size() << " left";
    }
};

TEST_F(Peer, Truncation) {
    MINFER_SKIP_WITHOUT(program());
    struct Filter {
        Kind kind;
        std::vector<std::vector<float>> params;
        Make make;
    };
    const std::vector<Filter> filters = {
        {kTopK, {{1}, {7}, {40}, {300}, {200000}}, [](const Case& c) { return top_k(int(c.params[0])); }},
        {kTopP, {{0.01f}, {0.5f}, {0.9f}, {0.95f}, {0.999f}}, [](const Case& c) { return top_p(c.params[0]); }},
        {kMinP, {{0.001f}, {0.05f}, {0.3f}, {1}}, [](const Case& c) { return min_p(c.params[0]); }},
        {kTypical, {{0.1f}, {0.5f}, {0.95f}}, [](const Case& c) { return typical(c.params[0]); }},
        {kTopNSigma, {{0.5f}, {1}, {2.5f}}, [](const Case& c) { return top_n_sigma(c.params[0]); }},
        {kXtc, {{1, 0.01f}, {1, 0.1f}, {1, 0.3f}}, [](const Case& c) { return xtc(c.params[0], c.params[1], 1); }},
        {kMirostat, {{3, 0.1f}, {8, 0.1f}}, [](const Case& c) { return mirostat(c.params[0], c.params[1]); }},
    };
    for (const Filter& filter : filters) {
        std::vector<Case> cases;
        for (const std::vector<float>& params : filter.params)
            for (std::vector<float>& logits : some_logits(uint32_t(filter.kind)))
                cases.push_back({filter.kind, params, {}, std::move(logits)});
        SCOPED_TRACE(fmt::format("sampler {}", uint32_t(filter.kind)));
        const Tally tally = compare(cases, filter.make, 1e-4);
        // Sums over many candidates are off by several of them; a border of one logit hardly ever meets one.
        const bool sums = filter.kind == kTopP || filter.kind == kTypical;
        EXPECT_LE(tally.parted, tally.cases / (sums ? 5 : 50));
    }
}

TEST_F(Peer, Temperatures) {
    MINFER_SKIP_WITHOUT(program());
    for (const Kind kind : {kTemperature, kDynamicTemperature}) {
        std::vector<Case> cases;
        for (const std::vector<float>& params :
             kind == kTemperature ? std::vector<std::vector<float>>{{0.0f}, {0.3f}, {1}, {2.5f}}
                                  : std::vector<std::vector<float>>{{1, 0.5f, 1}, {0.8f, 0.8f, 2}, {2, 1.5f, 0.5f}})
            for (std::vector<float>& logits : some_logits(9)) cases.push_back({kind, params, {}, std::move(logits)});
        const std::vector<std::vector<Left>> all = theirs(cases);
        for (size_t i = 0; i < all.size(); ++i) {
            const std::vector<float>& p = cases[i].params;
            std::vector<Left> mine =
                ours(cases[i], *(kind == kTemperature ? temperature(p[0]) : dynamic_temperature(p[0], p[1], p[2])));
            std::vector<Left> other = all[i];
            if (mine.size() == 1) {  // a temperature of 0, or all but 0, which they divide by
                const auto best = std::ranges::max_element(other, {}, &Left::probability);
                EXPECT_EQ(best->id, mine[0].id) << describe(cases[i]);
                EXPECT_EQ(best->probability, 1) << describe(cases[i]);
                continue;
            }
            ASSERT_EQ(mine.size(), other.size()) << describe(cases[i]);
            by_id(mine);
            by_id(other);
            for (size_t k = 0; k < mine.size(); ++k) {
                ASSERT_EQ(mine[k].id, other[k].id);
                if (kind == kTemperature) {
                    ASSERT_EQ(mine[k].logit, other[k].logit) << describe(cases[i]);
                } else if (mine[k].logit != 0) {
                    // Their entropy, and so the temperature, is a sum of floats.
                    const double logit = double(cases[i].logits[size_t(mine[k].id)]);
                    ASSERT_NEAR(logit / double(mine[k].logit), logit / double(other[k].logit),
                                mine.size() > 20000 ? 4e-3 : 1e-3)
                        << describe(cases[i]);
                }
            }
        }
    }
}

// Of all tokens, what is left after penalties is everything: the logits must be the same bits.
void expect_same_logits(const Case& c, std::vector<Left> mine, std::vector<Left> other, float bound) {
    ASSERT_EQ(mine.size(), other.size());
    std::ranges::sort(mine, {}, &Left::id);
    std::ranges::sort(other, {}, &Left::id);
    for (size_t k = 0; k < mine.size(); ++k) {
        ASSERT_EQ(mine[k].id, other[k].id);
        ASSERT_LE(std::fabs(mine[k].logit - other[k].logit), bound * std::fabs(mine[k].logit))
            << "token " << mine[k].id << " of " << c.logits.size();
    }
}

TEST_F(Peer, PenaltiesAndBias) {
    MINFER_SKIP_WITHOUT(program());
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0, 4);
    std::vector<Case> cases;
    for (int i = 0; i < 300; ++i) {
        std::vector<float> logits(50 + random() % 200);
        for (float& x : logits) x = normal(random);
        std::vector<int32_t> tokens(random() % 150);
        for (int32_t& t : tokens) t = int32_t(random() % logits.size());
        const auto part = [&] { return float(random() % 1000) / 1000; };
        if (i % 3 == 0)
            cases.push_back({kBias, {3, 1.5f, float(logits.size() - 1), -2.25f, 7, 0.125f}, {}, logits});
        else
            cases.push_back({kPenalties,
                             {float(1 + random() % 100), 0.5f + part() * 2, part() * 2 - 1, part() * 2 - 1},
                             tokens,
                             logits});
    }
    const std::vector<std::vector<Left>> all = theirs(cases);
    for (size_t i = 0; i < all.size(); ++i) {
        const std::vector<float>& p = cases[i].params;
        const std::vector<LogitBias> biases = {
            {int32_t(p[0]), p[1]}, {int32_t(p[2]), p[3]}, {p.size() > 4 ? int32_t(p[4]) : 0, p.size() > 4 ? p[5] : 0}};
        const std::unique_ptr<Sampler> sampler =
            cases[i].kind == kBias ? logit_bias(biases) : penalties(int(p[0]), p[1], p[2], p[3]);
        expect_same_logits(cases[i], ours(cases[i], *sampler), all[i], 0);
    }
}

TEST_F(Peer, Dry) {
    const std::filesystem::path model = test::models_dir() / "smollm2-135m-instruct-q4_1.gguf";
    MINFER_SKIP_WITHOUT(program());
    MINFER_SKIP_WITHOUT(model);
    const tokenizer::Tokenizer tokenizer = tokenizer::Tokenizer::from_gguf(gguf::Gguf::open(model));
    std::mt19937 random(5);
    // Texts that repeat themselves, with breakers among the words: ":" and what holds one, quotes, line breaks.
    std::vector<int32_t> words =
        tokenizer.encode("the cat sat on a mat: \"yes\" it *did*\n\n and so:// on. \\\"", {.add_special = false});
    std::vector<Case> cases;
    for (int i = 0; i < 150; ++i) {
        std::vector<int32_t> tokens;
        const size_t variety = 2 + random() % words.size();
        while (tokens.size() < 5 + random() % 200) {
            if (tokens.size() > 4 && random() % 3 == 0) {
                const size_t from = random() % tokens.size(), n = random() % 12;
                for (size_t k = from; k < from + n && k < tokens.size(); ++k) tokens.push_back(tokens[k]);
            } else {
                tokens.push_back(words[random() % std::min(variety, words.size())]);
            }
        }
        std::vector<float> logits(tokenizer.n_vocab(), 100.0f);
        cases.push_back(
            {kDry,
             {0.5f + float(random() % 4), 1 + float(random() % 4) / 4, float(random() % 4), float(1 + random() % 250)},
             tokens,
             logits});
    }
    const std::vector<std::vector<Left>> all = theirs(cases, model);
    size_t penalized = 0;
    for (size_t i = 0; i < all.size(); ++i) {
        const std::vector<float>& p = cases[i].params;
        const std::unique_ptr<Sampler> sampler =
            dry({.multiplier = p[0], .base = p[1], .allowed_length = int(p[2]), .last_n = int(p[3])}, tokenizer);
        const std::vector<Left> mine = ours(cases[i], *sampler);
        penalized += size_t(std::ranges::count_if(mine, [](const Left& x) { return x.logit != 100; }));
        expect_same_logits(cases[i], mine, all[i], 2e-6f);
    }
    EXPECT_GT(penalized, 100u);
}

}  // namespace
}  // namespace minfer::sampling
