// Shapes that follow from the operators' rules, and what each rule refuses and says.
#include "graph/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "graph/shape_rules.h"
#include "graph/tiny_model.h"

namespace minfer::graph {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class BuilderTest : public ::testing::Test {
  protected:
    WeightId add(const std::string& name, size_t rows, size_t dim) {
        data_.emplace_back(rows * dim * sizeof(float));
        return weights_.add({name, gguf::TensorType::F32, {rows, dim}, data_.back()});
    }

    std::vector<std::vector<std::byte>> data_;
    WeightTable weights_;
    const WeightId table_ = add("table", 100, 24), square_ = add("square", 24, 24), wide_ = add("wide", 64, 24),
                   norm_ = add("norm", 1, 24), head_norm_ = add("head_norm", 1, 8), bias_ = add("bias", 1, 24),
                   odd_norm_ = add("odd_norm", 1, 7), factors_ = add("factors", 1, 3);
    const RopeAttributes rope_{RopeLayout::Half, 8};

    // x [5][24], q, k, v: what most rules start from.
    struct Start {
        Builder b;
        NodeId x, table;
    };
    Start start() {
        Builder b(weights_, {5, 2, weights_.version()});
        const NodeId x = b.get_rows("x", b.weight(table_), b.token_ids());
        RopeParams rope;
        rope.n_rot = 8;
        const NodeId table = b.rope_table("angles", b.positions(), {}, rope);
        return {std::move(b), x, table};
    }

    void expect_refused(const std::function<void(Start&)>& make, const ::testing::Matcher<std::string>& message) {
        Start s = start();
        try {
            make(s);
            ADD_FAILURE() << "nothing thrown";
        } catch (const ShapeError& e) {
            EXPECT_THAT(std::string(e.what()), message);
        }
    }
};

TEST_F(BuilderTest, ShapesFollowFromTheInputs) {
    Start s = start();
    Builder& b = s.b;
    const NodeId wide = b.matmul("wide", b.weight(wide_), s.x);
    const NodeId group = b.matmul_group("group", s.x, {b.weight(wide_), b.weight(square_)});
    const NodeId product = b.matmul_swiglu("product", s.x, b.weight(wide_), b.weight(wide_));
    const NodeId part = b.view("part", group, 5 * 64, {5, 24});
    const NodeId stored = b.store_kv("store", s.x, s.x, b.kv_cells(), 3);
    const NodeId attended = b.attention("attended", s.x, stored, b.cell_map(), {3, 3, 3, 8, 1.0f});
    const NodeId rows = b.select_rows("rows", attended, b.output_rows());
    b.output(rows);
    const Graph g = std::move(b).finish();
    EXPECT_EQ(g[s.x].shape, (Shape{5, 24}));
    EXPECT_EQ(g[s.table].shape, (Shape{5, 8}));
    EXPECT_EQ(g[wide].shape, (Shape{5, 64}));
    EXPECT_EQ(g[group].shape, (Shape{1, 5 * 88}));
    EXPECT_EQ(g[product].shape, (Shape{5, 64}));
    EXPECT_EQ(g[part].shape, (Shape{5, 24}));
    EXPECT_EQ(g[stored].dtype, DType::Effect);
    EXPECT_EQ(g.n_bytes(stored), 0u);
    EXPECT_EQ(g[attended].shape, (Shape{5, 24}));
    EXPECT_EQ(g[rows].shape, (Shape{2, 24}));
    EXPECT_EQ(g.n_bytes(rows), 2u * 24 * 4);
    EXPECT_EQ(g.outputs().size(), 1u);
}

TEST_F(BuilderTest, LeavesAreNodesOnce) {
    Start s = start();
    EXPECT_EQ(s.b.weight(norm_), s.b.weight(norm_));
    EXPECT_EQ(s.b.positions(), s.b.positions());
    EXPECT_NE(s.b.weight(norm_), s.b.weight(bias_));
}

TEST_F(BuilderTest, MatMulNamesBothShapes) {
    expect_refused(
        [&](Start& s) {
            const NodeId wide = s.b.matmul("wide", s.b.weight(wide_), s.x);
            s.b.matmul("again", s.b.weight(wide_), wide);
        },
        AllOf(HasSubstr("matmul 'again'"), HasSubstr("'wide' is weight f32 [64][24]"),
              HasSubstr("'wide' is f32 [5][64]"), HasSubstr("rows of x have 64 values, those of the weight 24")));
    expect_refused([&](Start& s) { s.b.matmul("m", s.x, s.x); }, HasSubstr("input 0 must be a weight"));
    expect_refused([&](Start& s) { s.b.matmul("m", s.b.weight(square_), s.b.weight(square_)); },
                   HasSubstr("input 1 must be activations in f32"));
    expect_refused([&](Start& s) { s.b.matmul_group("m", s.x, {s.b.weight(square_)}); }, HasSubstr("expected 3 to"));
    expect_refused([&](Start& s) { s.b.matmul_group("m", s.x, {s.b.weight(square_), s.b.weight(head_norm_)}); },
                   HasSubstr("those of the weight 8"));
    expect_refused([&](Start& s) { s.b.matmul_swiglu("m", s.x, s.b.weight(wide_), s.b.weight(square_)); },
                   HasSubstr("gate has 64 rows, up 24"));
}

TEST_F(BuilderTest, NormsAndBiases) {
    Start s = start();
    s.b.rms_norm("row", s.x, s.b.weight(norm_), 1e-5f);
    s.b.rms_norm("head", s.x, s.b.weight(head_norm_), 1e-5f);
    expect_refused([&](Start& t) { t.b.rms_norm("n", t.x, t.b.weight(odd_norm_), 1e-5f); },
                   AllOf(HasSubstr("rms_norm 'n'"), HasSubstr("[5][24]"), HasSubstr("[1][7]"),
                         HasSubstr("a multiple of the weight's 7")));
    expect_refused([&](Start& t) { t.b.rms_norm("n", t.x, t.b.weight(square_), 1e-5f); },
                   HasSubstr("input 1 must be [1][24]"));
    expect_refused([&](Start& t) { t.b.rms_norm("n", t.x, t.b.weight(norm_), 0); }, HasSubstr("eps must be above 0"));
    expect_refused([&](Start& t) { t.b.add_bias("b", t.x, t.b.weight(head_norm_)); },
                   AllOf(HasSubstr("add_bias 'b'"), HasSubstr("input 1 must be [1][24]")));
}

TEST_F(BuilderTest, ElementwiseOperatorsWantOneShape) {
    const auto wide = [&](Start& s) { return s.b.matmul("wide", s.b.weight(wide_), s.x); };
    expect_refused([&](Start& s) { s.b.add("a", s.x, wide(s)); },
                   AllOf(HasSubstr("add 'a'"), HasSubstr("[5][24]"), HasSubstr("[5][64]"), HasSubstr("one shape")));
    expect_refused([&](Start& s) { s.b.mul("a", wide(s), s.x); }, HasSubstr("mul 'a'"));
    expect_refused([&](Start& s) { s.b.swiglu("a", wide(s), s.x); }, HasSubstr("swiglu 'a'"));
    expect_refused([&](Start& s) { s.b.silu("a", s.b.positions()); }, HasSubstr("activations in f32"));
}

TEST_F(BuilderTest, GetRowsAndSelectRows) {
    expect_refused([&](Start& s) { s.b.get_rows("r", s.b.weight(table_), s.b.positions()); },
                   HasSubstr("input 1 must be the input token_ids"));
    expect_refused([&](Start& s) { s.b.get_rows("r", s.x, s.b.token_ids()); }, HasSubstr("input 0 must be a weight"));
    expect_refused([&](Start& s) { s.b.select_rows("r", s.x, s.b.token_ids()); },
                   HasSubstr("input 1 must be the input output_rows"));
    Builder none(weights_, {5, 0, 0});
    EXPECT_THROW(none.output_rows(), ShapeError);
}

TEST_F(BuilderTest, Rope) {
    const auto table = [](Start& s, size_t n_rot, std::optional<NodeId> factors = {}) {
        RopeParams params;
        params.n_rot = n_rot;
        return s.b.rope_table("t", s.b.positions(), factors, params);
    };
    Start s = start();
    EXPECT_NO_THROW(table(s, 6, s.b.weight(factors_)));
    EXPECT_NO_THROW(s.b.rope("partial", s.x, table(s, 6), rope_));
    expect_refused([&](Start& t) { table(t, 7); }, HasSubstr("n_rot 7 must be even"));
    expect_refused([&](Start& t) { table(t, 8, t.b.weight(factors_)); }, HasSubstr("input 1 must be [1][4]"));
    expect_refused([&](Start& t) { t.b.rope("r", t.x, table(t, 10), rope_); },
                   HasSubstr("n_rot 10 must be at most head_dim 8"));
    expect_refused([&](Start& t) { t.b.rope("r", t.x, t.table, {RopeLayout::Half, 10}); },
                   HasSubstr("a multiple of head_dim 10"));
    expect_refused([&](Start& t) { t.b.rope("r", t.b.select_rows("two", t.x, t.b.output_rows()), t.table, rope_); },
                   AllOf(HasSubstr("[2][24]"), HasSubstr("[5][8]"), HasSubstr("as many rows")));
    expect_refused([&](Start& t) { t.b.bias_rope("r", t.x, t.b.weight(head_norm_), t.table, rope_); },
                   HasSubstr("bias_rope 'r'"));
}

TEST_F(BuilderTest, Attention) {
    const auto attend = [](Start& s, AttentionAttributes attributes, size_t stored_layer = 3) {
        const NodeId stored = s.b.store_kv("store", s.x, s.x, s.b.kv_cells(), stored_layer);
        s.b.attention("a", s.x, stored, s.b.cell_map(), attributes);
    };
    expect_refused([&](Start& s) { attend(s, {3, 3, 3, 8, 1.0f}, 4); },
                   HasSubstr("input 1 must be the store_kv of layer 3"));
    expect_refused([&](Start& s) { attend(s, {3, 3, 2, 8, 1.0f}); },
                   HasSubstr("n_head 3 must be a multiple of n_head_kv 2"));
    expect_refused([&](Start& s) { attend(s, {3, 2, 2, 8, 1.0f}); },
                   HasSubstr("rows of queries must be n_head 2 of head_dim 8"));
    expect_refused([&](Start& s) { attend(s, {3, 3, 1, 8, 1.0f}); },
                   AllOf(HasSubstr("'x' is [5][24]"), HasSubstr("n_head_kv 1 of head_dim 8")));
    expect_refused(
        [&](Start& s) {
            const NodeId two = s.b.select_rows("two", s.x, s.b.output_rows());
            s.b.store_kv("store", s.x, two, s.b.kv_cells(), 0);
        },
        AllOf(HasSubstr("store_kv 'store'"), HasSubstr("as many rows")));
    expect_refused([&](Start& s) { s.b.add("a", s.x, s.b.store_kv("store", s.x, s.x, s.b.kv_cells(), 0)); },
                   HasSubstr("input 1 must be activations"));
}

TEST_F(BuilderTest, ViewsLieWithin) {
    Start s = start();
    EXPECT_NO_THROW(s.b.view("all", s.x, 0, {1, 120}));
    expect_refused([&](Start& t) { t.b.view("v", t.x, 1, {5, 24}); },
                   HasSubstr("a view [5][24] from value 1 on must lie within"));
    expect_refused([&](Start& t) { t.b.view("v", t.x, 121, {1, 1}); }, HasSubstr("must lie within"));
    expect_refused([&](Start& t) { t.b.view("v", t.x, size_t(-8), {1, 16}); }, HasSubstr("must lie within"));
    expect_refused([&](Start& t) { t.b.view("v", t.x, 0, {0, 24}); }, HasSubstr("must lie within"));
}

TEST_F(BuilderTest, GraphsThatComputeNothing) {
    EXPECT_THROW(Builder(weights_, {0, 0, 0}), ShapeError);
    Start s = start();
    EXPECT_THROW(s.b.output(s.b.positions()), ShapeError);
    EXPECT_THROW(s.b.weight(kNoWeight), ShapeError);
    EXPECT_THROW(s.b.weight(WeightId(99)), ShapeError);
    EXPECT_THROW(std::move(s.b).finish(), ShapeError);
}

TEST_F(BuilderTest, InputsComeBeforeTheirNode) {
    Graph g;
    EXPECT_THROW(add_checked(g, {Op::Silu, {NodeId(0)}, {}, DType::F32, {}, "forward"}), ShapeError);
}

TEST(WeightTable, BytesMustBeTheRows) {
    WeightTable table;
    std::vector<std::byte> bytes(4 * 34);
    EXPECT_NO_THROW(table.add({"w", gguf::TensorType::Q8_0, {2, 64}, bytes}));
    EXPECT_EQ(table.version(), 1u);
    EXPECT_THROW(table.add({"w", gguf::TensorType::Q8_0, {2, 32}, bytes}), ShapeError);
    EXPECT_THROW(table.add({"w", gguf::TensorType::Q8_0, {1, 100}, bytes}), ShapeError);
}

TEST(TinyModel, IsTheSameForTheSameParameters) {
    const test::TinyModel model({}, 1);
    const Graph a = model.build(model.params(3, 1)), b = model.build(model.params(3, 1));
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(a.nodes()[i].op, b.nodes()[i].op);
        EXPECT_EQ(a.nodes()[i].inputs, b.nodes()[i].inputs);
        EXPECT_EQ(a.nodes()[i].shape, b.nodes()[i].shape);
    }
}

}  // namespace
}  // namespace minfer::graph
