// The allocator against a simulation of memory in which every float remembers whose value it is.
#include "runtime/allocate.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "graph/builder.h"
#include "graph/tiny_model.h"
#include "runtime/split.h"

namespace minfer::runtime {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;

constexpr size_t kRows = 3;
constexpr size_t kDims[] = {8, 24, 64};

// Weights of every shape that the random graphs use. Their values do not matter.
class Shapes {
  public:
    Shapes() : bytes_(64 * 64 * sizeof(float)) {
        for (size_t n : kDims) {
            vectors_.push_back(add(1, n));
            for (size_t m : kDims) matrices_.push_back(add(m, n));
        }
    }
    graph::WeightId vector(size_t dim) const { return vectors_[index(dim)]; }
    graph::WeightId matrix(size_t n_out, size_t n_in) const {
        return matrices_[index(n_in) * std::size(kDims) + index(n_out)];
    }
    const graph::WeightTable& table() const { return table_; }

  private:
    static size_t index(size_t dim) { return size_t(std::ranges::find(kDims, dim) - std::begin(kDims)); }
    graph::WeightId add(size_t rows, size_t dim) {
        return table_.add(
            {"w", gguf::TensorType::F32, {rows, dim}, std::span(bytes_).first(rows * dim * sizeof(float))});
    }
    std::vector<std::byte> bytes_;
    graph::WeightTable table_;
    std::vector<graph::WeightId> vectors_, matrices_;
};

using Choice = std::tuple<uint8_t, uint8_t, uint8_t, bool, bool>;  // operator, inputs, is an output, on which backend

struct RandomGraph {
    Graph graph;
    Assignment assignment;
};

// One node a choice, of any operator and any earlier value that fits.
RandomGraph make(const std::vector<Choice>& choices) {
    static const Shapes shapes;
    graph::Builder b(shapes.table(), {kRows, 2, 0});
    std::vector<NodeId> values = {b.get_rows("start", b.weight(shapes.matrix(8, 24)), b.token_ids())};
    std::vector<std::pair<NodeId, bool>> where = {{values[0], false}};
    std::vector<graph::Shape> shape_of = {{kRows, 24}};
    bool has_output = false;
    for (const auto& [what, first, second, output, backend] : choices) {
        const size_t a = first % values.size();
        const NodeId x = values[a];
        const graph::Shape shape = shape_of[a];
        size_t like = second % values.size();
        while (shape_of[like] != shape) like = (like + 1) % values.size();  // x itself at the latest
        const size_t dim = kDims[second % std::size(kDims)];
        const bool plain = std::ranges::count(kDims, shape.dim) != 0;  // has weights to go with it
        const auto value = [&](NodeId id, graph::Shape s) {
            values.push_back(id);
            shape_of.push_back(s);
            where.push_back({id, backend});
        };
        switch (what % 8) {
            case 0:
                value(b.silu("silu", x), shape);
                break;
            case 1:
                value(b.add("add", x, values[like]), shape);
                break;
            case 2:
                value(b.swiglu("swiglu", values[like], x), shape);
                break;
            case 3:
                if (plain) value(b.matmul("matmul", b.weight(shapes.matrix(dim, shape.dim)), x), {shape.rows, dim});
                break;
            case 4:
                if (plain) value(b.rms_norm("norm", x, b.weight(shapes.vector(shape.dim)), 1e-5f), shape);
                break;
            case 5: {
                if (!plain) break;
                const NodeId group = b.matmul_group(
                    "group", x, {b.weight(shapes.matrix(dim, shape.dim)), b.weight(shapes.matrix(8, shape.dim))});
                value(group, {1, shape.rows * (dim + 8)});
                value(b.view("part 0", group, 0, {shape.rows, dim}), {shape.rows, dim});
                value(b.view("part 1", group, shape.rows * dim, {shape.rows, 8}), {shape.rows, 8});
                break;
            }
            case 6: {
                const size_t n = 8 * (1 + second % (shape.n_values() / 8));
                const size_t offset = first % (shape.n_values() - n + 1);
                value(b.view("view", x, offset, {1, n}), {1, n});
                break;
            }
            case 7:
                if (shape.rows == kRows) value(b.select_rows("rows", x, b.output_rows()), {2, shape.dim});
                break;
        }
        if (output) {
            b.output(values.back());
            has_output = true;
        }
    }
    if (!has_output) b.output(values.back());
    RandomGraph made{std::move(b).finish(), {}};
    made.assignment.assign(made.graph.size(), kNoBackend);
    for (const auto& [id, backend] : where) {
        const Node& node = made.graph[id];
        made.assignment[size_t(id)] = node.op == Op::View ? made.assignment[size_t(node.inputs[0])] : int32_t(backend);
    }
    return made;
}

using Tag = std::pair<int32_t, size_t>;  // of a float: the node that computed it, and which of its values it is

// The float `i` of a node's value, as the node that is no View computed it.
Tag tag(const Graph& graph, NodeId id, size_t i) {
    while (graph[id].op == Op::View) {
        i += graph[id].as<graph::ViewAttributes>().offset;
        id = graph[id].inputs[0];
    }
    return {int32_t(id), i};
}

// Runs the graph on tags. Empty where every node finds its inputs' values whole; else what went wrong.
std::string simulate(const Graph& graph, const Assignment& assignment, const Allocation& allocation) {
    std::vector<std::vector<Tag>> memory;
    for (size_t bytes : allocation.arena_bytes) memory.emplace_back(bytes / sizeof(float), Tag{-1, 0});
    const auto tags = [&](NodeId id) {
        std::vector<Tag>& arena = memory[size_t(assignment[size_t(id)])];
        const size_t offset = allocation.offsets[size_t(id)] / sizeof(float), n = graph[id].shape.n_values();
        return offset + n <= arena.size() ? std::span(arena).subspan(offset, n) : std::span<Tag>();
    };
    const auto whole = [&](NodeId id) {
        const std::span<const Tag> at = tags(id);
        if (at.empty()) return false;
        for (size_t i = 0; i < at.size(); ++i)
            if (at[i] != tag(graph, id, i)) return false;
        return true;
    };
    for (size_t i = 0; i < graph.size(); ++i) {
        const NodeId id{int32_t(i)};
        const Node& node = graph[id];
        if (graph::is_leaf(node.op) || node.op == Op::View) continue;
        const bool effect = node.dtype == graph::DType::Effect;
        const std::span<Tag> out = effect ? std::span<Tag>() : tags(id);
        if (out.empty() && !effect) return "node " + std::to_string(i) + " lies outside its arena";
        if (!effect && allocation.offsets[i] % sizeof(float) != 0)
            return "node " + std::to_string(i) + " is not aligned";
        for (size_t in = 0; in < node.inputs.size(); ++in) {
            const NodeId input = node.inputs[in];
            if (graph[input].dtype != graph::DType::F32) continue;
            if (!whole(input))
                return "node " + std::to_string(i) + " finds input " + std::to_string(in) + " overwritten";
            const std::span<Tag> at = tags(input);
            const bool overlap = at.data() < out.data() + out.size() && out.data() < at.data() + at.size();
            const bool same = at.data() == out.data() && at.size() == out.size();
            const bool may = std::ranges::count(graph::in_place_inputs(node.op), in) != 0;
            if (overlap && !(same && may)) return "node " + std::to_string(i) + " writes into an input that it reads";
        }
        for (size_t j = 0; j < out.size(); ++j) out[j] = {int32_t(i), j};
    }
    for (NodeId output : graph.outputs())
        if (!whole(output)) return "output " + std::to_string(int32_t(output)) + " is gone at the end";
    return "";
}

RC_GTEST_PROP(Allocate, NoValueIsOverwrittenWhileItLives, (const std::vector<Choice>& choices)) {
    const RandomGraph random = make(choices);
    const FusedGraph ready = split({random.graph, random.assignment});
    const Allocation allocation = allocate(ready.graph, ready.assignment, 2);
    RC_ASSERT(simulate(ready.graph, ready.assignment, allocation) == "");
}

RC_GTEST_PROP(Allocate, LongGraphsReuseMemory, ()) {
    const auto choices = *rc::gen::container<std::vector<Choice>>(200, rc::gen::arbitrary<Choice>());
    const RandomGraph random = make(choices);
    const FusedGraph ready = split({random.graph, random.assignment});
    const Allocation allocation = allocate(ready.graph, ready.assignment, 2);
    RC_ASSERT(simulate(ready.graph, ready.assignment, allocation) == "");
    const size_t rounding = ready.graph.size() * backend::kAlignment;
    RC_ASSERT(allocation.arena_bytes[0] + allocation.arena_bytes[1] <= allocation.value_bytes + rounding);
}

// Without the checker's own eyes open, the properties above would mean nothing.
TEST(Allocate, TheSimulationSeesOverlaps) {
    const test::TinyModel model({}, 1);
    const Graph graph = model.build(model.params(3, 1));
    Assignment assignment(graph.size(), 0);
    Allocation allocation = allocate(graph, assignment, 1);
    EXPECT_EQ(simulate(graph, assignment, allocation), "");
    for (size_t& offset : allocation.offsets)
        if (offset != Allocation::kNowhere) offset = 0;
    EXPECT_NE(simulate(graph, assignment, allocation), "");
}

Graph chain(const char* what, size_t n) {
    static const Shapes shapes;
    graph::Builder b(shapes.table(), {kRows, 0, 0});
    NodeId x = b.get_rows("start", b.weight(shapes.matrix(8, 24)), b.token_ids());
    for (size_t i = 0; i < n; ++i)
        x = std::string(what) == "silu" ? b.silu("x", x) : b.matmul("x", b.weight(shapes.matrix(24, 24)), x);
    b.output(x);
    return std::move(b).finish();
}

TEST(Allocate, AChainInPlaceTakesOneValue) {
    const Graph graph = chain("silu", 20);
    const Allocation allocation = allocate(graph, Assignment(graph.size(), 0), 1);
    EXPECT_EQ(allocation.arena_bytes[0], 320u);  // 3 x 24 floats in cache lines
    EXPECT_EQ(allocation.n_in_place, 20u);
    EXPECT_EQ(allocation.value_bytes, 21u * 288);
}

TEST(Allocate, AChainThatReadsAsItWritesTakesTwo) {
    const Graph graph = chain("matmul", 20);
    const Allocation allocation = allocate(graph, Assignment(graph.size(), 0), 1);
    EXPECT_EQ(allocation.arena_bytes[0], 2u * 320);
    EXPECT_EQ(allocation.n_in_place, 0u);
}

TEST(Allocate, NothingIsWrittenOverTheOtherInput) {
    static const Shapes shapes;
    graph::Builder b(shapes.table(), {kRows, 0, 0});
    const NodeId x = b.get_rows("x", b.weight(shapes.matrix(8, 24)), b.token_ids());
    const NodeId even = b.view("even", x, 0, {1, 48}), shifted = b.view("shifted", x, 8, {1, 48});
    const NodeId sum = b.add("sum", even, shifted);
    const NodeId twice = b.add("twice", sum, sum);
    b.output(twice);
    const Graph graph = std::move(b).finish();
    const Assignment assignment(graph.size(), 0);
    const Allocation allocation = allocate(graph, assignment, 1);
    EXPECT_EQ(simulate(graph, assignment, allocation), "");
    EXPECT_EQ(allocation.n_in_place, 1u);  // twice, over sum
    EXPECT_EQ(allocation.offsets[size_t(twice)], allocation.offsets[size_t(sum)]);
}

TEST(Allocate, ADeeperModelTakesNoMoreMemory) {
    const auto bytes = [](size_t n_layer) {
        test::TinyShape shape;
        shape.n_layer = n_layer;
        const test::TinyModel model(shape, 1);
        const Graph graph = model.build(model.params(5, 1));
        return allocate(graph, Assignment(graph.size(), 0), 1).arena_bytes[0];
    };
    EXPECT_EQ(bytes(2), bytes(12));
}

}  // namespace
}  // namespace minfer::runtime
