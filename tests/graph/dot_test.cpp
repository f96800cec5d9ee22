// The Graphviz text of a graph, held to a recorded one.
#include "graph/dot.h"

#include <gtest/gtest.h>

#include <vector>

#include "graph/builder.h"

namespace minfer::graph {
namespace {

TEST(Dot, IsTheRecordedText) {
    std::vector<std::byte> data(6 * 4 * sizeof(float));
    WeightTable weights;
    const WeightId table = weights.add({"token_\"embd\"", gguf::TensorType::F32, {6, 4}, data});
    Builder b(weights, {2, 1, 0});
    b.weight(table);  // leaves in statements of their own: arguments are evaluated in an order of the compiler's choice
    const NodeId x = b.get_rows("x", b.weight(table), b.token_ids());
    const NodeId stored = b.store_kv("store", x, x, b.kv_cells(), 0);
    const NodeId a = b.attention("a\\b", x, stored, b.cell_map(), {0, 2, 2, 2, 1.0f});
    b.output(b.select_rows("last", a, b.output_rows()));
    const Graph graph = std::move(b).finish();

    EXPECT_EQ(to_dot(graph, [&](NodeId id) { return id == x ? "cpu" : ""; }), R"(digraph forward {
    node [fontname="monospace"];
    n0 [shape=box style=filled fillcolor=lightgrey label="weight\ntoken_\"embd\"\nf32 [6][4]"];
    n1 [shape=ellipse style=filled fillcolor=lightblue label="input\ntoken_ids\ni32 [2][1]"];
    n2 [shape=box label="get_rows\nx\nf32 [2][4]\ncpu"];
    n3 [shape=ellipse style=filled fillcolor=lightblue label="input\nkv_cells\ni32 [2][1]"];
    n4 [shape=cylinder label="store_kv\nstore\neffect"];
    n5 [shape=ellipse style=filled fillcolor=lightblue label="input\ncell_map\ni32 [2][1]"];
    n6 [shape=box label="attention\na\\b\nf32 [2][4]"];
    n7 [shape=ellipse style=filled fillcolor=lightblue label="input\noutput_rows\ni32 [1][1]"];
    n8 [shape=box label="select_rows\nlast\nf32 [1][4]" peripheries=2];
    n0 -> n2;
    n1 -> n2;
    n2 -> n4;
    n2 -> n4;
    n3 -> n4;
    n2 -> n6;
    n4 -> n6 [style=dotted];
    n5 -> n6;
    n6 -> n8;
    n7 -> n8;
}
)");
}

}  // namespace
}  // namespace minfer::graph
