// Which chains are fused, and that a fused graph gives the bits of the unfused one.
#include "runtime/fuse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "base/error.h"
#include "graph/tiny_model.h"
#include "runtime/batch.h"
#include "runtime/interpreter_backend.h"
#include "runtime/scheduler.h"

namespace minfer::runtime {
namespace {

using backend::Fusion;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;
using test::InterpreterBackend;
using test::TinyModel;
using test::TinyShape;

constexpr FusionOptions kNone{false, false, false, false};

Graph fused(const TinyModel& model, size_t n_token, const FusionOptions& options,
            InterpreterBackend::Options refusals = {}) {
    InterpreterBackend cpu("cpu", std::move(refusals));
    const std::vector<backend::Backend*> backends = {&cpu};
    const kv::Layout layout = model.layout(16);
    const Graph graph = model.build(model.params(n_token, 1));
    return fuse(graph, assign(graph, backends, layout), backends, layout, options).graph;
}

size_t count(const Graph& graph, Op op) { return size_t(std::ranges::count(graph.nodes(), op, &Node::op)); }

TinyShape qwen2() {
    TinyShape shape;
    shape.bias = true;
    return shape;
}

TEST(Fuse, EveryPatternInADecodeStepAndInAPrompt) {
    for (const size_t n_token : {1, 2}) {
        const Graph graph = fused(TinyModel(qwen2(), 1), n_token, {});
        EXPECT_EQ(count(graph, Op::MatMulSwiGlu), 2u);
        EXPECT_EQ(count(graph, Op::SwiGlu), 0u);
        EXPECT_EQ(count(graph, Op::Silu), 0u);
        EXPECT_EQ(count(graph, Op::Mul), 0u);
        EXPECT_EQ(count(graph, Op::BiasRope), 4u);  // q and k of two layers
        EXPECT_EQ(count(graph, Op::AddBias), 2u);   // v's
        EXPECT_EQ(count(graph, Op::MatMulGroup), 2u);
        EXPECT_EQ(count(graph, Op::MatMul), 5u);  // attn_output and down of two layers, logits
        EXPECT_EQ(count(graph, Op::View), 6u);
    }
}

TEST(Fuse, EachPatternHasASwitch) {
    const TinyModel model(qwen2(), 1);
    EXPECT_EQ(count(fused(model, 1, {.swiglu = false}), Op::Mul), 2u);
    EXPECT_EQ(count(fused(model, 1, {.swiglu = false}), Op::MatMulSwiGlu), 0u);  // it is made of a SwiGlu
    EXPECT_EQ(count(fused(model, 1, {.bias_rope = false}), Op::BiasRope), 0u);
    EXPECT_EQ(count(fused(model, 1, {.bias_rope = false}), Op::MatMulGroup), 2u);
    EXPECT_EQ(count(fused(model, 1, {.qkv = false}), Op::MatMulGroup), 0u);
    EXPECT_EQ(count(fused(model, 1, {.gate_up = false}), Op::SwiGlu), 2u);
    EXPECT_EQ(count(fused(model, 1, {.gate_up = false}), Op::MatMulSwiGlu), 0u);
    const Graph plain = model.build(model.params(1, 1));
    EXPECT_EQ(fused(model, 1, kNone).size(), plain.size());
}

TEST(Fuse, TheBackendDecides) {
    const TinyModel model(qwen2(), 1);
    EXPECT_EQ(count(fused(model, 1, {}, {.refused_fusions = {Fusion::Qkv}}), Op::MatMulGroup), 0u);
    EXPECT_EQ(count(fused(model, 1, {}, {.refused_fusions = {Fusion::SwiGlu}}), Op::Mul), 2u);
    EXPECT_EQ(count(fused(model, 1, {}, {.refused_fusions = {Fusion::GateUp}}), Op::SwiGlu), 2u);
    EXPECT_EQ(count(fused(model, 1, {}, {.refused = {Op::MatMulSwiGlu}}), Op::SwiGlu), 2u);
    EXPECT_EQ(count(fused(model, 1, {}, {.refused = {Op::MatMulGroup}}), Op::MatMulGroup), 0u);
    EXPECT_EQ(count(fused(model, 1, {}, {.refused = {Op::BiasRope}}), Op::AddBias), 6u);
}

TEST(Fuse, NormsOfHeadsDoNotHideTheProjections) {
    TinyShape shape;
    shape.qk_norm = true;
    const Graph graph = fused(TinyModel(shape, 1), 1, {});
    EXPECT_EQ(count(graph, Op::MatMulGroup), 2u);
    EXPECT_EQ(count(graph, Op::Rope), 4u);
}

TEST(Fuse, AValueWithAnotherReaderStays) {
    const TinyModel model({}, 1);
    graph::Builder b(model.weights(), model.params(1, 0));
    const NodeId x = b.get_rows("x", b.weight(graph::WeightId(0)), b.token_ids());
    const NodeId silu = b.silu("silu", x);
    b.output(b.mul("mul", silu, x));
    b.output(silu);
    b.output(b.mul("squared", b.silu("other", x), b.silu("another", x)));
    const Graph graph = std::move(b).finish();
    InterpreterBackend cpu("cpu");
    const std::vector<backend::Backend*> backends = {&cpu};
    const kv::Layout layout = model.layout(16);
    const Graph out = fuse(graph, assign(graph, backends, layout), backends, layout, {}).graph;
    EXPECT_EQ(count(out, Op::Mul), 1u);     // "mul", whose silu is an output
    EXPECT_EQ(count(out, Op::SwiGlu), 1u);  // "squared": the first silu vanishes, the second is the other factor
    EXPECT_EQ(count(out, Op::Silu), 2u);
    EXPECT_EQ(out.outputs().size(), 3u);
    EXPECT_EQ(out[out.outputs()[1]].name, "silu");
    EXPECT_EQ(out[out.outputs()[2]].name, "squared");
}

TEST(Fuse, AChainAcrossBackendsStays) {
    const TinyModel model({}, 1);
    InterpreterBackend first("first", {.refused = {Op::Silu}}), second("second");
    const std::vector<backend::Backend*> backends = {&first, &second};
    const kv::Layout layout = model.layout(16);
    const Graph graph = model.build(model.params(1, 1));
    const Graph out = fuse(graph, assign(graph, backends, layout), backends, layout, {}).graph;
    EXPECT_EQ(count(out, Op::SwiGlu) + count(out, Op::MatMulSwiGlu), 0u);
}

TEST(Fuse, AGroupAcrossBackendsStays) {
    const TinyModel model({}, 1);
    InterpreterBackend first("first"), second("second");
    const std::vector<backend::Backend*> backends = {&first, &second};
    const kv::Layout layout = model.layout(16);
    const Graph graph = model.build(model.params(1, 1));
    Assignment assignment = assign(graph, backends, layout);
    for (size_t i = 0; i < graph.size(); ++i)
        if (graph.nodes()[i].name == "blk.0.k" || graph.nodes()[i].name == "blk.1.up") assignment[i] = 1;
    const Graph out = fuse(graph, assignment, backends, layout, {}).graph;
    EXPECT_EQ(count(out, Op::MatMulGroup), 1u);
    EXPECT_EQ(count(out, Op::MatMulSwiGlu), 1u);
}

TEST(Fuse, FactorsWithAnotherReaderOrOfTwoInputsStay) {
    const TinyModel model({}, 1);
    graph::Builder b(model.weights(), model.params(2, 0));
    const NodeId table = b.weight(graph::WeightId(0));  // [n_vocab][dim]: a matrix as good as any
    const NodeId x = b.get_rows("x", table, b.token_ids());
    const NodeId read_twice = b.matmul("read_twice", table, x);
    b.output(b.swiglu("first", read_twice, b.matmul("up", table, x)));
    b.output(read_twice);
    const NodeId other = b.silu("other", x);
    b.output(b.swiglu("second", b.matmul("of_x", table, x), b.matmul("of_other", table, other)));
    b.output(b.swiglu("third", b.matmul("gate", table, x), b.matmul("another_up", table, x)));
    const Graph graph = std::move(b).finish();
    InterpreterBackend cpu("cpu");
    const std::vector<backend::Backend*> backends = {&cpu};
    const kv::Layout layout = model.layout(16);
    const Graph out = fuse(graph, assign(graph, backends, layout), backends, layout, {}).graph;
    EXPECT_EQ(count(out, Op::SwiGlu), 2u);
    EXPECT_EQ(count(out, Op::MatMulSwiGlu), 1u);
    EXPECT_EQ(out[out.outputs()[3]].op, Op::MatMulSwiGlu);
}

TEST(Fuse, ListsOfNames) {
    EXPECT_TRUE(FusionOptions::without("").allows(Fusion::Qkv));
    const FusionOptions two = FusionOptions::without("swiglu,qkv");
    EXPECT_FALSE(two.allows(Fusion::SwiGlu));
    EXPECT_TRUE(two.allows(Fusion::BiasRope));
    EXPECT_FALSE(two.allows(Fusion::Qkv));
    EXPECT_TRUE(two.allows(Fusion::GateUp));
    for (Fusion fusion : backend::kFusions) {
        EXPECT_FALSE(FusionOptions::without("all").allows(fusion));
        EXPECT_FALSE(FusionOptions::without(fusion_name(fusion)).allows(fusion));
    }
    EXPECT_THROW(FusionOptions::without("swiglu,rope"), UsageError);
}

// Logits of every step: a prompt in one piece, then single tokens.
std::vector<uint32_t> logits(const TinyModel& model, const FusionOptions& options, std::span<const int32_t> prompt,
                             std::span<const int32_t> next) {
    InterpreterBackend cpu("cpu");
    Scheduler scheduler({&cpu}, model.weights(), model.layout(32),
                        [&](const graph::GraphParams& params) { return model.build(params); }, {.fusion = options});
    test::Cells cells(32, 7);
    test::Sequence sequence;
    std::vector<uint32_t> bits;
    const auto step = [&](std::span<const int32_t> tokens) {
        test::Batch batch;
        batch.add(sequence, cells, tokens, tokens.size());
        scheduler.run(model.params(tokens.size(), tokens.size()), batch.inputs());
        for (float logit : scheduler.output(0)) bits.push_back(std::bit_cast<uint32_t>(logit));
    };
    step(prompt);
    for (int32_t token : next) step(std::span(&token, 1));
    return bits;
}

RC_GTEST_PROP(Fuse, FusedGraphsGiveTheSameBits, ()) {
    TinyShape shape;
    shape.n_layer = *rc::gen::inRange<size_t>(1, 4);
    shape.n_head_kv = *rc::gen::inRange<size_t>(1, 4);
    shape.n_head = shape.n_head_kv * *rc::gen::inRange<size_t>(1, 4);
    shape.head_dim = 2 * *rc::gen::inRange<size_t>(1, 9);
    shape.n_ff = *rc::gen::inRange<size_t>(1, 40);
    shape.bias = *rc::gen::arbitrary<bool>();
    shape.qk_norm = *rc::gen::arbitrary<bool>();
    shape.rope = *rc::gen::element(graph::RopeLayout::Half, graph::RopeLayout::Interleaved);
    const TinyModel model(shape, *rc::gen::arbitrary<uint64_t>());
    const auto token = rc::gen::inRange<int32_t>(0, int32_t(shape.n_vocab));
    const auto prompt = *rc::gen::resize(6, rc::gen::nonEmpty(rc::gen::container<std::vector<int32_t>>(token)));
    const auto next = *rc::gen::container<std::vector<int32_t>>(3, token);
    const FusionOptions some{*rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>(),
                             *rc::gen::arbitrary<bool>()};
    const std::vector<uint32_t> plain = logits(model, kNone, prompt, next);
    for (uint32_t bits : plain) RC_ASSERT(!std::isnan(std::bit_cast<float>(bits)));
    RC_ASSERT(logits(model, some, prompt, next) == plain);
    RC_ASSERT(logits(model, {}, prompt, next) == plain);
}

}  // namespace
}  // namespace minfer::runtime
