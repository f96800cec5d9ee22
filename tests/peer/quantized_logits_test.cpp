// How far quantized activations move the logits: the mean divergence from the same weights expanded to F32, beside
// llama.cpp's own on the same file. And RoPE's scalings, which transformers' references do not all have, against
// llama.cpp on F32 weights.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "peer/fixtures.h"
#include "support/support.h"

namespace minfer {
namespace {

constexpr size_t kVocab = 2048, kTokens = 96;

std::vector<int32_t> some_tokens() {
    std::vector<int32_t> ids(kTokens);
    uint32_t state = 1;
    for (int32_t& id : ids) {
        state = state * 1664525u + 1013904223u;
        id = int32_t((state >> 8) % kVocab);
    }
    return ids;
}

std::vector<double> log_softmax(std::span<const float> logits) {
    const double best = *std::ranges::max_element(logits);
    double sum = 0;
    for (const float x : logits) sum += std::exp(double(x) - best);
    std::vector<double> out;
    for (const float x : logits) out.push_back(double(x) - best - std::log(sum));
    return out;
}

// The mean over the positions of sum p ln(p / q), p of `reference`.
double mean_divergence(const std::vector<float>& reference, const std::vector<float>& found) {
    double sum = 0;
    for (size_t t = 0; t < kTokens; ++t) {
        const std::vector<double> p = log_softmax(std::span(reference).subspan(t * kVocab, kVocab));
        const std::vector<double> q = log_softmax(std::span(found).subspan(t * kVocab, kVocab));
        for (size_t i = 0; i < kVocab; ++i) sum += std::exp(p[i]) * (p[i] - q[i]);
    }
    return sum / double(kTokens);
}

class QuantizedLogits : public testing::TestWithParam<const char*> {};

TEST_P(QuantizedLogits, DivergeNoMoreThanThePeersOwn) {
    MINFER_SKIP_WITHOUT(test::peer_program("quantize"));
    const test::TemporaryFolder folder;
    const std::vector<int32_t> tokens = some_tokens();
    test::make_gguf({"--arch", GetParam(), "--shape", "tiny256", "--dtype", "f32", "--untied", "--vocab",
                     std::to_string(kVocab), "--seed", "31"},
                    "f32", folder / "f32.gguf");
    for (const char* type :
         {"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K_M", "Q4_K_M", "Q5_K_M", "Q6_K", "IQ4_NL", "IQ4_XS"}) {
        test::run_peer("quantize", {folder / "f32.gguf", folder / "q.gguf", type});
        test::run_peer("quantize", {folder / "q.gguf", folder / "expanded.gguf", "F32"});
        const std::vector<float> exact = test::minfer_logits(folder / "expanded.gguf", tokens);
        const std::vector<float> peers_exact = test::peer_logits(folder / "expanded.gguf", tokens, folder.path());
        const std::vector<float> ours = test::minfer_logits(folder / "q.gguf", tokens);
        const std::vector<float> peers = test::peer_logits(folder / "q.gguf", tokens, folder.path());
        ASSERT_EQ(exact.size(), kTokens * kVocab);
        ASSERT_EQ(peers.size(), exact.size());
        const double our_divergence = mean_divergence(exact, ours);
        const double peers_divergence = mean_divergence(peers_exact, peers);
        fmt::print("{} {}: {:.2e}, llama.cpp {:.2e}: {:.2f}\n", GetParam(), type, our_divergence, peers_divergence,
                   our_divergence / peers_divergence);
        EXPECT_LE(our_divergence, 1.2 * peers_divergence) << type;
        EXPECT_GT(our_divergence, 0) << type << ": the weights were not quantized";
        EXPECT_LT(mean_divergence(exact, peers_exact), 1e-5) << type << ": the expanded weights are not the same";
    }
}

INSTANTIATE_TEST_SUITE_P(Peer, QuantizedLogits, testing::Values("llama", "qwen2", "qwen3"),
                         [](const auto& p) { return std::string(p.param); });

// llama.cpp keeps keys and values in f16 here, which by itself moves the logits by up to 0.3% of the largest.
TEST(RopeScaling, IsThePeers) {
    MINFER_SKIP_WITHOUT(test::peer_program("logits"));
    const std::vector<int32_t> tokens = some_tokens();
    std::vector<float> unscaled;
    for (const char* scaling : {"", "linear", "yarn", "llama3"}) {
        for (const char* arch : {"qwen2", "qwen3", "llama"}) {
            if (std::string_view(scaling) == "llama3" && std::string_view(arch) != "llama") continue;
            const test::TemporaryFolder folder;
            std::vector<std::string> words = {"--arch",  arch,  "--shape", "tiny64",
                                              "--dtype", "f32", "--vocab", std::to_string(kVocab),
                                              "--seed",  "33"};
            if (*scaling) words.insert(words.end(), {"--rope-scaling", scaling});
            test::make_gguf(words, "f32", folder / "model.gguf");
            const std::vector<float> ours = test::minfer_logits(folder / "model.gguf", tokens);
            const std::vector<float> peers = test::peer_logits(folder / "model.gguf", tokens, folder.path());
            ASSERT_EQ(ours.size(), peers.size());
            float largest = 0, worst = 0;
            for (size_t i = 0; i < ours.size(); ++i) {
                largest = std::max(largest, std::abs(peers[i]));
                worst = std::max(worst, std::abs(ours[i] - peers[i]));
            }
            EXPECT_LE(worst, 4e-3f * largest) << arch << " " << scaling;
            if (!*scaling && std::string_view(arch) == "llama") unscaled = ours;
            if (*scaling && std::string_view(arch) == "llama") {
                float moved = 0;
                for (size_t i = 0; i < ours.size(); ++i) moved = std::max(moved, std::abs(ours[i] - unscaled[i]));
                EXPECT_GT(moved, 2e-2f * largest) << scaling << " changes nothing, so nothing was compared";
            }
        }
    }
}

}  // namespace
}  // namespace minfer
