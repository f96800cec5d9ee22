// Logits against those that HuggingFace's transformers computed in float32 for the same weights
// (tests/peer/data/logits: copies of the recorded references; the fields are explained in the shared references'
// README). The files are those that minfer's own converter makes of the checkpoints.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "convert/convert.h"
#include "engine/engine.h"
#include "peer/fixtures.h"
#include "support/support.h"

namespace minfer {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Of the largest logit: how far two float32 computations of different order may lie apart.
constexpr float kTolerance = 2e-4f;

fs::path data() { return test::source_dir() / "tests" / "peer" / "data" / "logits"; }

class ReferenceLogits : public testing::TestWithParam<const char*> {
  protected:
    // The recorded command line's words, and the type that its weights are stored in.
    void SetUp() override {
        MINFER_SKIP_WITHOUT(test::python());
        reference_ = json::parse(test::read_file(data() / (std::string(GetParam()) + ".json")));
        std::vector<std::string> words;
        std::istringstream line(reference_["checkpoint"].get<std::string>());
        std::string word;
        line >> word;  // make_checkpoint.py
        while (line >> word) {
            if (!words.empty() && words.back() == "--dtype") stored_type_ = word;
            words.push_back(word);
        }
        test::make_checkpoint(words, folder_ / "hf");
    }

    void convert(const std::string& outtype) const {
        convert::plan_conversion({.source = folder_ / "hf",
                                  .output = path().string(),
                                  .type = convert::parse_outtype(outtype),
                                  .require_chat_template = false})
            .run({});
    }

    const std::string& stored_type() const { return stored_type_; }
    fs::path path() const { return folder_ / "model.gguf"; }

    void compare_logits() {
        const auto tokens = reference_["tokens"].get<std::vector<int32_t>>();
        const auto positions = reference_["positions"].get<std::vector<size_t>>();
        const auto stride = reference_["vocab_stride"].get<size_t>(), columns = reference_["columns"].get<size_t>();
        const std::vector<float> expected = test::read_floats(data() / (std::string(GetParam()) + ".f32"));
        ASSERT_EQ(expected.size(), positions.size() * columns);
        const std::vector<float> found = test::minfer_logits(path(), tokens, positions);
        const size_t n_vocab = found.size() / positions.size();
        float worst = 0;
        for (size_t row = 0; row < positions.size(); ++row) {
            const std::span<const float> logits = std::span(found).subspan(row * n_vocab, n_vocab);
            const auto largest = reference_["max_abs"][row].get<float>();
            for (size_t i = 0; i < columns; ++i) {
                const float off = std::abs(logits[i * stride] - expected[row * columns + i]) / largest;
                ASSERT_LE(off, kTolerance) << "position " << positions[row] << ", id " << i * stride;
                worst = std::max(worst, off);
            }
            const auto best = size_t(std::ranges::max_element(logits) - logits.begin());
            const auto expected_best = reference_["argmax"][row].get<size_t>();
            EXPECT_LE(logits[best] - logits[expected_best], kTolerance * largest) << positions[row];
        }
        fmt::print("largest difference: {:.1e} of the largest logit\n", worst);
    }

    void compare_greedy_tokens() {
        auto tokens = reference_["greedy_prompt"].get<std::vector<int32_t>>();
        const auto greedy = reference_["greedy"].get<std::vector<int32_t>>();
        const auto margins = reference_["greedy_margin"].get<std::vector<float>>();
        std::vector<size_t> positions;
        for (size_t i = 0; i < greedy.size(); ++i) positions.push_back(tokens.size() - 1 + i);
        tokens.insert(tokens.end(), greedy.begin(), greedy.end() - 1);
        const std::vector<float> found = test::minfer_logits(path(), tokens, positions);
        const size_t n_vocab = found.size() / positions.size();
        size_t n_compared = 0;
        for (size_t i = 0; i < greedy.size(); ++i) {
            const std::span<const float> logits = std::span(found).subspan(i * n_vocab, n_vocab);
            float largest = 0;
            for (const float x : logits) largest = std::max(largest, std::abs(x));
            if (margins[i] <= kTolerance * largest) continue;  // either of two tokens is right
            EXPECT_EQ(std::ranges::max_element(logits) - logits.begin(), greedy[i]) << i;
            ++n_compared;
        }
        EXPECT_GE(n_compared, greedy.size() - 2);
    }

  private:
    test::TemporaryFolder folder_;
    json reference_;
    std::string stored_type_ = "bf16";
};

// One test for all, for it is the checkpoint that takes the time. Both files hold the weights without rounding.
TEST_P(ReferenceLogits, AndGreedyTokens) {
    for (const std::string& outtype : {std::string("f32"), stored_type()}) {
        SCOPED_TRACE(outtype);
        convert(outtype);
        compare_logits();
        compare_greedy_tokens();
        if (stored_type() == "f32") break;
    }
}

INSTANTIATE_TEST_SUITE_P(Transformers, ReferenceLogits,
                         testing::Values("llama-tiny64-f32", "llama-tiny256-bf16-llama3", "qwen2-tiny64-f32",
                                         "qwen2-tiny256-bf16-untied", "qwen3-tiny64-f32", "qwen3-tiny160-f16",
                                         "qwen3-tiny256-bf16-linear"),
                         [](const auto& p) {
                             std::string name = p.param;
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

}  // namespace
}  // namespace minfer
