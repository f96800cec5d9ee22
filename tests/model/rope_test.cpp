// What the keys about RoPE come to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "gguf/reader.h"
#include "model/model.h"
#include "model/tiny_file.h"
#include "support/support.h"

namespace minfer::model {
namespace {

using gguf::Value;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Scaling = graph::RopeParams::Scaling;

graph::RopeParams rope(const std::map<std::string, Value>& keys, const std::string& architecture = "qwen3") {
    test::TinyFile f = test::tiny_file(architecture);
    const std::string prefix = architecture + ".rope.";
    for (const auto& [name, value] : keys) f.set(prefix + name, value);
    const test::TemporaryFolder folder;
    f.write(folder / "tiny.gguf");
    return load(gguf::Gguf::open((folder / "tiny.gguf").string()))->hyperparameters().rope;
}

Value real(float x) { return Value::scalar(x); }
Value yarn() { return Value::string("yarn"); }

TEST(Rope, NoneIsTheDefault) {
    EXPECT_EQ(rope({}), (graph::RopeParams{.n_rot = 16}));
    EXPECT_EQ(rope({{"scaling.type", Value::string("none")}, {"scaling.factor", real(4)}}).scaling, Scaling::None);
    EXPECT_EQ(rope({{"scaling.type", Value::string("linear")}}).scaling, Scaling::None) << "a factor of 1";
    EXPECT_EQ(rope({{"freq_base", real(5e5f)}}).freq_base, 5e5);
}

TEST(Rope, Linear) {
    const graph::RopeParams r = rope({{"scaling.type", Value::string("linear")}, {"scaling.factor", real(4)}}, "qwen2");
    EXPECT_EQ(r, (graph::RopeParams{.n_rot = 8, .scaling = Scaling::Linear, .factor = 4}));
    EXPECT_EQ(rope({{"scaling.factor", real(4)}}, "qwen2"), r) << "linear is what a factor alone means";
    EXPECT_EQ(rope({{"scale_linear", real(4)}}, "qwen2"), r) << "the factor's first name";
}

TEST(Rope, Yarn) {
    const graph::RopeParams r = rope({{"scaling.type", yarn()},
                                      {"scaling.factor", real(4)},
                                      {"scaling.original_context_length", Value::scalar(uint32_t(64))}});
    EXPECT_EQ(r, (graph::RopeParams{.n_rot = 16, .scaling = Scaling::Yarn, .factor = 4, .n_ctx_orig = 64}));
    EXPECT_EQ(rope({{"scaling.type", yarn()}, {"scaling.factor", real(4)}}).n_ctx_orig, 128)
        << "the training context stands in for a missing original one";
    const graph::RopeParams all = rope({{"scaling.type", yarn()},
                                        {"scaling.factor", real(2)},
                                        {"scaling.attn_factor", real(1.5f)},
                                        {"scaling.yarn_beta_fast", real(30)},
                                        {"scaling.yarn_beta_slow", real(2)},
                                        {"scaling.yarn_ext_factor", real(0.5f)}},
                                       "llama");
    EXPECT_EQ(all.attn_factor, 1.5);
    EXPECT_EQ(all.beta_fast, 30);
    EXPECT_EQ(all.beta_slow, 2);
    EXPECT_EQ(all.ext_factor, 0.5);
}

// RopeTable multiplies by 1 + 0.1 ln(factor); a checkpoint's own attention factor is in place of that.
TEST(Rope, YarnsOwnAttentionFactor) {
    const graph::RopeParams r =
        rope({{"scaling.type", yarn()}, {"scaling.factor", real(4)}, {"scaling.yarn_attn_factor", real(1.25f)}});
    EXPECT_DOUBLE_EQ(r.attn_factor * (1 + 0.1 * std::log(4.0)), 1.25);
}

TEST(Rope, RefusesByName) {
    const auto refuses = [](const std::map<std::string, Value>& keys, const std::string& message) {
        EXPECT_THAT([&] { rope(keys); }, ThrowsMessage<Error>(HasSubstr(message)));
    };
    refuses({{"scaling.type", Value::string("longrope")}},
            "key qwen3.rope.scaling.type: unsupported RoPE scaling 'longrope'; there are none, linear, yarn");
    refuses({{"scaling.factor", real(0)}}, "key qwen3.rope.scaling.factor: found 0");
    refuses({{"scaling.type", yarn()}, {"scaling.factor", real(0.5f)}},
            "key qwen3.rope.scaling.factor: found 0.5, expected 1 or more");
    refuses({{"scaling.type", yarn()}, {"scaling.yarn_log_multiplier", real(0.1f)}},
            "key qwen3.rope.scaling.yarn_log_multiplier");
    refuses({{"scaling.attn_factor", real(2)}}, "key qwen3.rope.scaling.attn_factor");
    refuses({{"scaling.alpha", real(1000)}}, "key qwen3.rope.scaling.alpha");
    const std::vector<int32_t> sections = {1, 2};
    refuses({{"dimension_sections", Value::array(std::span<const int32_t>(sections))}},
            "key qwen3.rope.dimension_sections");
}

}  // namespace
}  // namespace minfer::model
