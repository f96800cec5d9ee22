// The graphs of the architectures: what is in them, and that they depend on the parameters alone. That they compute the
// right numbers is for tests/peer to show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "gguf/reader.h"
#include "graph/dot.h"
#include "model/model.h"
#include "model/tiny_file.h"
#include "support/support.h"

namespace minfer::model {
namespace {

using graph::Graph;
using graph::Op;

class BuildGraph : public testing::TestWithParam<const char*> {
  protected:
    BuildGraph() : architecture_(GetParam()) {
        test::tiny_file(architecture_).write(folder_ / "tiny.gguf");
        file_ = gguf::Gguf::open((folder_ / "tiny.gguf").string());
        model_ = load(*file_);
    }

    Graph build(size_t n_token, size_t n_output_rows) const {
        return model_->build_graph({n_token, n_output_rows, model_->weights().version()});
    }

    std::string architecture_;
    test::TemporaryFolder folder_;
    std::optional<gguf::Gguf> file_;
    std::unique_ptr<Model> model_;
};

size_t count(const Graph& graph, Op op) {
    return size_t(std::ranges::count_if(graph.nodes(), [&](const graph::Node& n) { return n.op == op; }));
}

TEST_P(BuildGraph, HasTheArchitecturesOperators) {
    const Graph g = build(5, 2);
    EXPECT_EQ(count(g, Op::GetRows), 1u);
    EXPECT_EQ(count(g, Op::RopeTable), 1u);
    EXPECT_EQ(count(g, Op::Rope), 4u);
    EXPECT_EQ(count(g, Op::Attention), 2u);
    EXPECT_EQ(count(g, Op::StoreKv), 2u);
    EXPECT_EQ(count(g, Op::MatMul), 2u * 7 + 1);
    EXPECT_EQ(count(g, Op::AddBias), architecture_ == "qwen2" ? 6u : 0u);
    EXPECT_EQ(count(g, Op::RmsNorm), architecture_ == "qwen3" ? 9u : 5u);
    EXPECT_EQ(count(g, Op::SelectRows), 2u) << "the last layer goes on with the rows whose logits are wanted";
    ASSERT_EQ(g.outputs().size(), 1u);
    EXPECT_EQ(g[g.outputs()[0]].shape, (graph::Shape{2, 40}));
    for (const graph::Node& n : g.nodes()) {
        if (n.op != Op::Rope) continue;
        EXPECT_EQ(n.as<graph::RopeAttributes>().layout,
                  architecture_ == "llama" ? graph::RopeLayout::Interleaved : graph::RopeLayout::Half);
    }
}

TEST_P(BuildGraph, ComputesNothingThatNobodyReads) {
    for (const auto& [n_token, n_output_rows] : {std::pair<size_t, size_t>{5, 0}, {5, 2}, {1, 1}, {1, 0}}) {
        const Graph g = build(n_token, n_output_rows);
        const std::vector<size_t> uses = g.use_counts();
        for (size_t i = 0; i < g.size(); ++i)
            EXPECT_TRUE(uses[i] > 0 || g.nodes()[i].op == Op::StoreKv) << g.nodes()[i].name;
    }
}

TEST_P(BuildGraph, WithoutLogitsEndsWithTheLastKeysAndValues) {
    const Graph g = build(5, 0);
    EXPECT_TRUE(g.outputs().empty());
    EXPECT_EQ(count(g, Op::StoreKv), 2u);
    EXPECT_EQ(count(g, Op::Attention), 1u);
    EXPECT_EQ(count(g, Op::MatMul), 7u + 2);
}

TEST_P(BuildGraph, ADecodeStepSelectsNothing) { EXPECT_EQ(count(build(1, 1), Op::SelectRows), 0u); }

TEST_P(BuildGraph, IsPure) {
    const std::string before = graph::to_dot(build(3, 1));
    build(7, 7);
    EXPECT_EQ(graph::to_dot(build(3, 1)), before);
}

INSTANTIATE_TEST_SUITE_P(Architectures, BuildGraph, testing::Values("llama", "qwen2", "qwen3"),
                         [](const auto& p) { return std::string(p.param); });

}  // namespace
}  // namespace minfer::model
