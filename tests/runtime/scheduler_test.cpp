// Forward passes end to end: reuse of graphs, memory, several backends.
#include "runtime/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "graph/tiny_model.h"
#include "runtime/batch.h"
#include "runtime/interpreter_backend.h"

namespace minfer::runtime {
namespace {

using graph::GraphParams;
using graph::Op;
using test::Batch;
using test::Cells;
using test::InterpreterBackend;
using test::Sequence;
using test::TinyModel;
using ::testing::HasSubstr;

constexpr size_t kCells = 256;

// A scheduler over a model, and a conversation with it.
class Conversation {
  public:
    Conversation(const TinyModel& model, std::vector<backend::Backend*> backends, Scheduler::Options options = {},
                 uint32_t seed = 3)
        : model_(model),
          scheduler(
              std::move(backends), model.weights(), model.layout(kCells),
              [&model](const GraphParams& params) { return model.build(params); }, options),
          cells_(kCells, seed) {}

    // Logits of the last `n_output` tokens.
    std::vector<float> step(const std::vector<int32_t>& tokens, size_t n_output = 1) {
        Batch batch;
        batch.add(sequence_, cells_, tokens, n_output);
        scheduler.run(model_.params(tokens.size(), n_output), batch.inputs());
        if (n_output == 0) return {};
        const std::span<const float> logits = scheduler.output(0);
        return {logits.begin(), logits.end()};
    }

  private:
    const TinyModel& model_;

  public:
    Scheduler scheduler;

  private:
    Cells cells_;
    Sequence sequence_;
};

TEST(Scheduler, TwoHundredDecodeStepsBuildTwoGraphs) {
    const TinyModel model({}, 1);
    InterpreterBackend cpu("cpu");
    Conversation conversation(model, {&cpu});
    conversation.step({1, 2, 3, 4, 5});
    for (int32_t i = 0; i < 200; ++i) conversation.step({i % 29});
    EXPECT_EQ(conversation.scheduler.statistics().n_build, 2u);
    EXPECT_EQ(conversation.scheduler.statistics().n_run, 201u);
    EXPECT_EQ(conversation.scheduler.statistics().n_arena_growth, 1u);  // the prompt's arena serves the steps
    EXPECT_EQ(cpu.n_registered, model.weights().size());
}

TEST(Scheduler, ChunksAndCellsDoNotMatter) {
    const TinyModel model({}, 2);
    InterpreterBackend cpu("cpu");
    Conversation whole(model, {&cpu});
    const std::vector<float> expected = whole.step({4, 8, 15, 16, 23});
    InterpreterBackend other("cpu");
    Conversation chunked(model, {&other}, {}, 99);
    chunked.step({4, 8}, 0);
    chunked.step({15}, 0);
    EXPECT_EQ(chunked.step({16, 23}), expected);
    EXPECT_THAT(expected, ::testing::Each(::testing::Truly([](float x) { return x == x; })));
}

TEST(Scheduler, SequencesOfABatchDoNotSeeEachOther) {
    const TinyModel model({}, 2);
    InterpreterBackend cpu("cpu");
    Conversation alone(model, {&cpu});
    const std::vector<float> expected = alone.step({4, 8, 15});

    InterpreterBackend other("cpu");
    Scheduler scheduler({&other}, model.weights(), model.layout(kCells),
                        [&](const GraphParams& params) { return model.build(params); });
    Cells cells(kCells, 5);
    Sequence a, b;
    Batch batch;
    batch.add(a, cells, std::vector<int32_t>{7, 7}, 1);
    batch.add(b, cells, std::vector<int32_t>{4, 8, 15}, 1);
    scheduler.run(model.params(5, 2), batch.inputs());
    const std::span<const float> second = scheduler.output(0).subspan(expected.size());
    EXPECT_EQ(std::vector<float>(second.begin(), second.end()), expected);
}

TEST(Scheduler, TwoBackendsCopyAtTheBoundaries) {
    const TinyModel model({}, 4);
    const std::vector<int32_t> prompt = {3, 1, 4, 1, 5};
    InterpreterBackend alone("cpu");
    Conversation plain(model, {&alone});
    const std::vector<std::vector<float>> expected = {plain.step(prompt), plain.step({9}), plain.step({2})};
    EXPECT_EQ(plain.scheduler.statistics().n_copy, 0u);
    for (bool gpu_visible : {false, true})
        for (bool cpu_visible : {false, true}) {
            InterpreterBackend gpu("gpu", {{Op::RmsNorm, Op::Attention, Op::SelectRows}, {}, gpu_visible});
            InterpreterBackend cpu("cpu", {{}, {}, cpu_visible});
            Conversation both(model, {&gpu, &cpu});
            EXPECT_EQ(both.step(prompt), expected[0]);
            EXPECT_EQ(both.step({9}), expected[1]);
            EXPECT_EQ(both.step({2}), expected[2]);
            EXPECT_GT(both.scheduler.statistics().n_copy, 0u);
            EXPECT_GT(gpu.n_executed, 0u);
            EXPECT_GT(cpu.n_executed, 0u);
        }
}

TEST(Scheduler, AValueIsCopiedToABackendOnce) {
    const TinyModel model({}, 4);
    InterpreterBackend gpu("gpu", {{Op::Add}, {}, true}), cpu("cpu");
    const std::vector<backend::Backend*> backends = {&gpu, &cpu};
    graph::Builder b(model.weights(), model.params(1, 0));
    const graph::NodeId x = b.get_rows("x", b.weight(graph::WeightId(0)), b.token_ids());
    const graph::NodeId y = b.add("y", x, x);
    b.output(b.add("z", y, x));
    const Plan plan = make_plan(std::move(b).finish(), backends, model.layout(kCells), {});
    EXPECT_EQ(std::ranges::count(plan.graph.nodes(), Op::Copy, &graph::Node::op), 1);
    ASSERT_EQ(plan.runs.size(), 3u);  // on the gpu; the copy; both sums on the cpu
    EXPECT_EQ(plan.runs[2].nodes.size(), 2u);
}

TEST(Scheduler, ALargerGraphGrowsTheArenaOnce) {
    const TinyModel model({}, 5);
    InterpreterBackend cpu("cpu");
    Conversation conversation(model, {&cpu});
    conversation.step({1});
    const size_t small = conversation.scheduler.statistics().arena_bytes;
    conversation.step({1, 2, 3, 4});
    const size_t large = conversation.scheduler.statistics().arena_bytes;
    EXPECT_GT(large, small);
    conversation.step({5});
    conversation.step({5, 6});
    EXPECT_EQ(conversation.scheduler.statistics().arena_bytes, large);
    EXPECT_EQ(conversation.scheduler.statistics().n_arena_growth, 2u);
    EXPECT_EQ(conversation.scheduler.statistics().kv_bytes, model.layout(kCells).total_bytes());
}

TEST(Scheduler, TheGraphUnusedForLongestGoes) {
    const TinyModel model({}, 5);
    InterpreterBackend cpu("cpu");
    Conversation conversation(model, {&cpu}, {.fusion = {}, .max_plans = 2});
    conversation.step({1});
    conversation.step({1, 2});
    conversation.step({1});
    conversation.step({1, 2, 3});  // the plan of two tokens goes
    EXPECT_EQ(conversation.scheduler.statistics().n_build, 3u);
    conversation.step({1});
    EXPECT_EQ(conversation.scheduler.statistics().n_build, 3u);
    conversation.step({1, 2});
    EXPECT_EQ(conversation.scheduler.statistics().n_build, 4u);
}

TEST(Scheduler, NewWeightsMeanANewGraph) {
    const TinyModel model({}, 5);
    InterpreterBackend cpu("cpu");
    Scheduler scheduler({&cpu}, model.weights(), model.layout(kCells),
                        [&](const GraphParams& params) { return model.build(params); });
    GraphParams params = model.params(1, 1);
    scheduler.plan(params);
    scheduler.plan(params);
    EXPECT_EQ(scheduler.statistics().n_build, 1u);
    ++params.weights_version;
    scheduler.plan(params);
    EXPECT_EQ(scheduler.statistics().n_build, 2u);
}

TEST(Scheduler, BatchesThatDoNotFitRunNothing) {
    const TinyModel model({}, 5);
    InterpreterBackend cpu("cpu");
    Conversation conversation(model, {&cpu});
    EXPECT_THROW(conversation.scheduler.output(0), Error);
    conversation.step({1});
    EXPECT_NO_THROW(conversation.scheduler.output(0));
    EXPECT_THROW(conversation.scheduler.output(1), ShapeError);
    const size_t executed = cpu.n_executed;
    try {
        conversation.step({29});
        FAIL() << "nothing thrown";
    } catch (const ShapeError& e) {
        EXPECT_THAT(std::string(e.what()), HasSubstr("token_ids: value 0 is 29, expected 0 to below 29"));
    }
    EXPECT_EQ(cpu.n_executed, executed);
}

TEST(Scheduler, TheCacheMustHoldWhatTheGraphStores) {
    const TinyModel model({}, 5);
    InterpreterBackend cpu("cpu");
    const auto refusal = [&](const kv::Layout& layout) -> std::string {
        Scheduler scheduler({&cpu}, model.weights(), layout,
                            [&](const GraphParams& params) { return model.build(params); });
        try {
            scheduler.plan(model.params(1, 1));
        } catch (const ShapeError& e) {
            return e.what();
        }
        return "";
    };
    kv::Layout layout = model.layout(kCells);
    layout.n_layer = 1;
    EXPECT_THAT(refusal(layout), HasSubstr("store_kv 'blk.1.store': layer 1 of a KV cache of 1 layers"));
    layout = model.layout(kCells);
    layout.head_dim_v = 4;
    EXPECT_THAT(refusal(layout), HasSubstr("found rows of 16 and 16, expected 2 heads of 8 and 4"));
    layout = model.layout(kCells);
    layout.n_head_kv = 4;
    layout.head_dim_k = layout.head_dim_v = 4;
    EXPECT_THAT(refusal(layout), HasSubstr("attention 'blk.0.attention': found 2 key heads of 8, expected 4 of 4"));
}

TEST(Scheduler, DotShowsBackendsAndFusedNodes) {
    test::TinyShape shape;
    shape.n_layer = 1;
    const TinyModel model(shape, 5);
    InterpreterBackend gpu("gpu", {{Op::RmsNorm}, {}, true}), cpu("cpu");
    Scheduler scheduler({&gpu, &cpu}, model.weights(), model.layout(kCells),
                        [&](const GraphParams& params) { return model.build(params); });
    const std::string dot = scheduler.to_dot(model.params(1, 1));
    EXPECT_THAT(dot, HasSubstr("label=\"matmul_swiglu\\nblk.0.gated\\nf32 [1][48]\\ngpu at "));
    EXPECT_THAT(dot, HasSubstr("label=\"rms_norm\\nblk.0.attn_norm\\nf32 [1][32]\\ncpu at "));
    EXPECT_THAT(dot, HasSubstr("label=\"matmul_group\\nblk.0.q+k+v\\nf32 [1][64]\\ngpu at "));
    EXPECT_THAT(dot, HasSubstr("label=\"copy\\nblk.0.attn_norm\\nf32 [1][32]\\ngpu at "));
    EXPECT_THAT(dot, HasSubstr("label=\"store_kv\\nblk.0.store\\neffect\\ngpu\""));
}

}  // namespace
}  // namespace minfer::runtime
