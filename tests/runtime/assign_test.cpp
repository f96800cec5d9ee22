// Which backend gets which node, and what is said where none takes one.
#include "runtime/assign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "graph/tiny_model.h"
#include "runtime/interpreter_backend.h"

namespace minfer::runtime {
namespace {

using graph::NodeId;
using graph::Op;
using test::InterpreterBackend;
using test::TinyModel;
using ::testing::AllOf;
using ::testing::HasSubstr;

class AssignTest : public ::testing::Test {
  protected:
    Assignment assign_to(std::vector<backend::Backend*> backends, kv::CellType cells = kv::CellType::F32) {
        kv::Layout layout = model_.layout(16);
        layout.type = cells;
        return assign(graph_, backends, layout);
    }

    const TinyModel model_{{}, 1};
    const graph::Graph graph_ = model_.build(model_.params(3, 1));
};

TEST_F(AssignTest, TheFirstThatSaysYes) {
    InterpreterBackend first("first", {.refused = {Op::MatMul}}), second("second");
    const Assignment assignment = assign_to({&first, &second});
    for (size_t i = 0; i < graph_.size(); ++i) {
        const Op op = graph_.nodes()[i].op;
        EXPECT_EQ(assignment[i], graph::is_leaf(op) ? kNoBackend : op == Op::MatMul ? 1 : 0) << graph_.nodes()[i].name;
    }
}

TEST_F(AssignTest, CellsAndTheirReadersStayTogether) {
    InterpreterBackend first("first", {.refused = {Op::Attention}}), second("second");
    const Assignment assignment = assign_to({&first, &second});
    for (size_t i = 0; i < graph_.size(); ++i) {
        const Op op = graph_.nodes()[i].op;
        const bool over_cells = op == Op::StoreKv || op == Op::Attention;
        EXPECT_EQ(assignment[i], graph::is_leaf(op) ? kNoBackend : over_cells ? 1 : 0) << graph_.nodes()[i].name;
    }
}

TEST_F(AssignTest, AViewGoesWithItsInput) {
    graph::Builder b(model_.weights(), model_.params(1, 0));
    const NodeId x = b.get_rows("x", b.weight(graph::WeightId(0)), b.token_ids());
    const NodeId y = b.silu("y", x);
    const NodeId view = b.view("view", y, 4, {1, 8});
    b.output(b.silu("z", view));
    const graph::Graph graph = std::move(b).finish();
    InterpreterBackend first("first", {.refused = {Op::Silu}}), second("second");
    const std::vector<backend::Backend*> backends = {&first, &second};
    const Assignment assignment = assign(graph, backends, model_.layout(16));
    EXPECT_EQ(assignment[size_t(x)], 0);
    EXPECT_EQ(assignment[size_t(view)], 1);
}

TEST_F(AssignTest, RefusalNamesOperatorTypesAndBackends) {
    InterpreterBackend cuda("cuda", {.refused = {Op::MatMul, Op::Silu}}), cpu("cpu", {.refused = {Op::MatMul}});
    try {
        assign_to({&cuda, &cpu});
        FAIL() << "nothing thrown";
    } catch (const UnsupportedError& e) {
        EXPECT_THAT(std::string(e.what()),
                    AllOf(HasSubstr("no backend runs matmul 'blk.0.q'"),
                          HasSubstr("'blk.0.attn_q.weight' is weight f32 [32][32]"),
                          HasSubstr("'blk.0.attn_norm' is f32 [3][32]"), HasSubstr("asked: cuda, cpu")));
    }
}

TEST_F(AssignTest, RefusalOfCellsNamesTheirType) {
    InterpreterBackend cpu("cpu");
    try {
        assign_to({&cpu}, kv::CellType::Q8_0);
        FAIL() << "nothing thrown";
    } catch (const UnsupportedError& e) {
        EXPECT_THAT(std::string(e.what()),
                    AllOf(HasSubstr("store_kv 'blk.0.store'"), HasSubstr("attention 'blk.0.attention'"),
                          HasSubstr("over q8_0 cells"), HasSubstr("asked: cpu")));
    }
    EXPECT_THROW(assign_to({}), UnsupportedError);
}

TEST_F(AssignTest, NeitherHasBothStoreAndAttention) {
    InterpreterBackend a("a", {.refused = {Op::Attention}}), b("b", {.refused = {Op::StoreKv}});
    EXPECT_THROW(assign_to({&a, &b}), UnsupportedError);
}

}  // namespace
}  // namespace minfer::runtime
