// Whole graphs on the CPU: that nodes reach the right operators, and that the bits depend on nothing but the model and
// the tokens.
#include "backend/cpu/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "base/cpu_features.h"
#include "base/error.h"
#include "each_kernels.h"
#include "graph/builder.h"
#include "graph/tiny_model.h"
#include "random_weights.h"
#include "runtime/batch.h"
#include "runtime/interpreter_backend.h"
#include "runtime/scheduler.h"

namespace minfer::cpu {
namespace {

using graph::GraphParams;
using graph::Op;
using minfer::test::Batch;
using minfer::test::Cells;
using minfer::test::InterpreterBackend;
using minfer::test::Sequence;
using minfer::test::TinyModel;
using minfer::test::TinyShape;
using runtime::FusionOptions;
using runtime::Scheduler;

constexpr size_t kCells = 256;
constexpr FusionOptions kUnfused{false, false, false, false};

std::vector<int32_t> tokens(size_t n, uint64_t seed) {
    test::Random random(seed);
    std::vector<int32_t> ids(n);
    for (int32_t& id : ids) id = int32_t(random.below(29));
    return ids;
}

struct Way {
    size_t chunk = 1000;      // tokens of a batch
    bool in_company = false;  // another sequence's tokens in the same batches
    FusionOptions fusion = {};
    uint32_t cells = 1;  // the order in which cells are taken
};

// The logits of every token of `ids`, run in that way.
std::vector<uint32_t> logits(const TinyModel& model, backend::Backend& backend, const std::vector<int32_t>& ids,
                             Way way) {
    Scheduler scheduler({&backend}, model.weights(), model.layout(kCells),
                        [&](const GraphParams& params) { return model.build(params); }, {.fusion = way.fusion});
    Cells cells(kCells, way.cells);
    Sequence ours, theirs;
    std::vector<uint32_t> all;
    for (size_t begin = 0; begin < ids.size(); begin += way.chunk) {
        const size_t n = std::min(way.chunk, ids.size() - begin);
        Batch batch;
        if (way.in_company) batch.add(theirs, cells, tokens(1 + begin % 3, begin), 1);
        batch.add(ours, cells, std::span(ids).subspan(begin, n), n);
        scheduler.run(model.params(batch.token_ids.size(), batch.output_rows.size()), batch.inputs());
        const std::span<const float> out = scheduler.output(0);
        for (float logit : out.last(n * model.shape().n_vocab)) all.push_back(std::bit_cast<uint32_t>(logit));
    }
    return all;
}

TEST(CpuBackend, AgreesWithTheInterpreter) {
    ThreadPool pool(2);
    const Kernels& kernels = choose_kernels(detect_cpu_features());
    for (bool bias : {false, true})
        for (bool qk_norm : {false, true})
            for (graph::RopeLayout rope : {graph::RopeLayout::Half, graph::RopeLayout::Interleaved})
                for (bool separate_silu : {false, true}) {
                    TinyShape shape;
                    shape.bias = bias;
                    shape.qk_norm = qk_norm;
                    shape.rope = rope;
                    shape.separate_silu = separate_silu;
                    const TinyModel model(shape, 11);
                    const std::vector<int32_t> ids = tokens(9, 1);
                    InterpreterBackend interpreter("interpreter");
                    CpuBackend cpu(kernels, pool);
                    const std::vector<uint32_t> expected =
                        logits(model, interpreter, ids, {.chunk = 4, .fusion = kUnfused});
                    const std::vector<uint32_t> found = logits(model, cpu, ids, {.chunk = 4});
                    ASSERT_EQ(found.size(), expected.size());
                    for (size_t i = 0; i < found.size(); ++i)
                        ASSERT_NEAR(std::bit_cast<float>(found[i]), std::bit_cast<float>(expected[i]), 2e-5)
                            << bias << qk_norm << separate_silu << " logit " << i;
                }
}

class CpuBackendBits : public testing::TestWithParam<gguf::TensorType> {};

TEST_P(CpuBackendBits, DependOnNothingButModelAndTokens) {
    TinyShape shape;
    shape.n_head = 8;
    shape.head_dim = 32;  // rows of 256: a block of every type
    shape.n_ff = 256;
    shape.n_vocab = 29;
    shape.bias = true;
    shape.type = GetParam();
    const TinyModel model(shape, 5);
    const std::vector<int32_t> ids = tokens(70, 2);  // more than one tile of keys
    ThreadPool one(1);
    CpuBackend scalar(scalar_kernels(), one);
    const std::vector<uint32_t> expected = logits(model, scalar, ids, {.fusion = kUnfused});
    for (uint32_t bits : expected) ASSERT_TRUE(std::isfinite(std::bit_cast<float>(bits)));
    ASSERT_GT(std::set<uint32_t>(expected.begin(), expected.end()).size(), expected.size() / 2);

    const CpuFeatures features = detect_cpu_features();
    for (const Kernels* kernels : all_kernels()) {
        if (!missing_features(*kernels, features).empty()) continue;
        for (int n_threads : {1, 2, 3, 7}) {
            if (kernels == &scalar_kernels() && n_threads > 2) continue;  // slow, and its threads are the others'
            ThreadPool pool(n_threads);
            CpuBackend cpu(*kernels, pool);
            const auto name = std::string(kernels->name) + ", threads " + std::to_string(n_threads);
            CpuBackend repacking(*kernels, pool, {.enabled = true});
            EXPECT_TRUE(logits(model, repacking, ids, {.chunk = 30}) == expected) << name << ", repacked";
            EXPECT_TRUE(logits(model, cpu, ids, {.cells = 2}) == expected) << name;
            if (kernels == &scalar_kernels()) continue;
            EXPECT_TRUE(logits(model, cpu, ids, {.chunk = 7, .fusion = kUnfused}) == expected)
                << name << ", chunks of 7";
            EXPECT_TRUE(logits(model, cpu, ids, {.chunk = 64, .in_company = true}) == expected)
                << name << ", in company";
            if (n_threads > 2) continue;
            EXPECT_TRUE(logits(model, cpu, ids, {.chunk = 1}) == expected) << name << ", one by one";
            EXPECT_TRUE(logits(model, cpu, ids, {.chunk = 1, .fusion = kUnfused}) == expected) << name << ", unfused";
            EXPECT_TRUE(logits(model, cpu, ids, {.chunk = 1, .in_company = true}) == expected)
                << name << ", in company";
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, CpuBackendBits, testing::ValuesIn(test::kWeightTypesInOrder),
                         [](const testing::TestParamInfo<gguf::TensorType>& type) {
                             return std::string(gguf::type_name(type.param));
                         });

// The rows of all matrices that are multiplied by and make whole panels.
size_t matrix_bytes(const TinyModel& model) {
    const graph::Graph graph = model.build(model.params(1, 1));
    size_t bytes = 0;
    for (const graph::Node& node : graph.nodes()) {
        if (node.op != Op::MatMul) continue;
        const graph::Weight& w = model.weights()[graph[node.inputs[0]].as<graph::WeightAttributes>().id];
        bytes += w.data.size() / w.shape.rows * (w.shape.rows / kPanelRows * kPanelRows);
    }
    return bytes;
}

// A prompt is as fast from rows of floats, so copying them waits for a step of few tokens; copying integers does not.
TEST(CpuBackend, RepacksFloatsWhenFewTokensCome) {
    ThreadPool pool(2);
    const Kernels& kernels = choose_kernels(detect_cpu_features());
    const std::vector<int32_t> ids = tokens(40, 2);
    for (const gguf::TensorType type : {gguf::TensorType::F32, gguf::TensorType::BF16, gguf::TensorType::Q4_0}) {
        TinyShape shape;
        shape.n_head = 8;
        shape.head_dim = 32;
        shape.n_ff = 256;
        shape.n_vocab = 32;
        shape.type = type;
        const TinyModel model(shape, 5);
        CpuBackend mapped(kernels, pool);
        const std::vector<uint32_t> expected = logits(model, mapped, ids, {});
        for (const size_t chunk : {17, 16, 5, 1}) {
            size_t done = 0;
            CpuBackend cpu(kernels, pool,
                           {.enabled = true,
                            .repacked = [&](std::span<const std::byte> rows, size_t) { done += rows.size(); },
                            .bytes_a_step = 1});  // a matrix at each step, so that some steps have both
            const std::vector<int32_t> all(ids.begin(), ids.begin() + ptrdiff_t(40 / chunk * chunk));
            const std::vector<uint32_t> found = logits(model, cpu, all, {.chunk = chunk});
            EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.begin())) << gguf::type_name(type) << chunk;
            const bool all_wait = type != gguf::TensorType::Q4_0 && chunk > 16;
            EXPECT_EQ(done == 0, all_wait) << gguf::type_name(type) << chunk;
            while (cpu.repack_more()) {
            }
            EXPECT_EQ(done, matrix_bytes(model)) << "each row once: " << gguf::type_name(type) << chunk;
        }
    }
}

class CpuSupport : public testing::Test {
  protected:
    graph::WeightId add(gguf::TensorType type, size_t rows, size_t dim) {
        data_.emplace_back(rows * size_t(gguf::row_bytes(type, dim)));
        return weights_.add({"w", type, {rows, dim}, data_.back()});
    }
    std::vector<std::vector<std::byte>> data_;
    graph::WeightTable weights_;
    ThreadPool pool_{1};
    CpuBackend cpu_{scalar_kernels(), pool_};
};

TEST_F(CpuSupport, WeightTypes) {
    const graph::WeightId q4 = add(gguf::TensorType::Q4_0, 4, 256), ternary = add(gguf::TensorType::TQ1_0, 4, 256),
                          table = add(gguf::TensorType::F16, 9, 256), half_norm = add(gguf::TensorType::F16, 1, 256),
                          norm = add(gguf::TensorType::F32, 1, 256);
    graph::Builder b(weights_, {1, 0, 0});
    const graph::NodeId x = b.get_rows("x", b.weight(table), b.token_ids());
    const graph::NodeId yes = b.matmul("yes", b.weight(q4), x), no = b.matmul("no", b.weight(ternary), x);
    const graph::NodeId mixed = b.matmul_group("mixed", x, {b.weight(q4), b.weight(ternary)});
    const graph::NodeId five = b.matmul_group("five", x, std::vector(5, b.weight(q4)));
    const graph::NodeId normed = b.rms_norm("normed", x, b.weight(norm), 1e-5f);
    const graph::NodeId half_normed = b.rms_norm("half", x, b.weight(half_norm), 1e-5f);
    const graph::NodeId biased = b.add_bias("biased", x, b.weight(half_norm));
    b.output(yes);
    const graph::Graph graph = std::move(b).finish();
    const auto supports = [&](graph::NodeId id) { return cpu_.supports_op(graph, id, kv::CellType::F32); };
    EXPECT_TRUE(supports(x));
    EXPECT_TRUE(supports(yes));
    EXPECT_FALSE(supports(no));
    EXPECT_FALSE(supports(mixed));
    EXPECT_FALSE(supports(five));
    EXPECT_TRUE(supports(normed));
    EXPECT_FALSE(supports(half_normed));
    EXPECT_FALSE(supports(biased));
}

TEST_F(CpuSupport, CellTypes) {
    const TinyModel model({}, 1);
    const graph::Graph graph = model.build(model.params(1, 1));
    for (size_t i = 0; i < graph.size(); ++i) {
        const Op op = graph.nodes()[i].op;
        if (op != Op::StoreKv && op != Op::Attention) continue;
        EXPECT_TRUE(cpu_.supports_op(graph, graph::NodeId(i), kv::CellType::F32));
        EXPECT_TRUE(cpu_.supports_op(graph, graph::NodeId(i), kv::CellType::F16));
        // A head of 8 values is no whole block of q8_0.
        EXPECT_EQ(cpu_.supports_op(graph, graph::NodeId(i), kv::CellType::Q8_0), op == Op::StoreKv);
    }
}

TEST_F(CpuSupport, VectorsOffAFloatsAlignment) {
    const std::vector<float> values = {1, -2, 3, 0.5f};
    std::vector<std::byte> bytes(1 + sizeof(float) * values.size());
    std::memcpy(bytes.data() + 1, values.data(), sizeof(float) * values.size());
    const graph::WeightId id = weights_.add({"bias", gguf::TensorType::F32, {1, 4}, std::span(bytes).subspan(1)});
    EXPECT_THROW(cpu_.vector(id), Error);
    cpu_.register_weights(weights_, std::vector{id});
    EXPECT_THAT(cpu_.vector(id), testing::ElementsAreArray(values));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(cpu_.vector(id).data()) % alignof(float), 0u);
}

}  // namespace
}  // namespace minfer::cpu
