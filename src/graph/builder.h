// Builds a graph, one method an operator. Each method applies the operator's shape rule and throws ShapeError, naming
// the operator, the nodes and both shapes, where the inputs do not go together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/weight_table.h"

namespace minfer::graph {

class Builder {
  public:
    // The table is borrowed for the builder's life.
    Builder(const WeightTable& weights, const GraphParams& params);

    const GraphParams& params() const { return params_; }

    // Leaves. Asking twice gives the same node. (C++ evaluates arguments in any order, so leaves made within the call
    // of an operator are numbered as the compiler likes; nothing depends on their numbers.)
    NodeId weight(WeightId id);
    NodeId token_ids();
    NodeId positions();
    NodeId kv_cells();
    NodeId cell_map();
    NodeId output_rows();  // only where params().n_output_rows > 0

    // Operators, as op.h says. `name` is the node's.
    NodeId get_rows(std::string name, NodeId table, NodeId ids);
    NodeId rms_norm(std::string name, NodeId x, NodeId weight, float eps);
    NodeId matmul(std::string name, NodeId w, NodeId x);
    NodeId add_bias(std::string name, NodeId x, NodeId bias);
    NodeId add(std::string name, NodeId a, NodeId b);
    NodeId mul(std::string name, NodeId a, NodeId b);
    NodeId silu(std::string name, NodeId x);
    NodeId rope_table(std::string name, NodeId positions, std::optional<NodeId> freq_factors, const RopeParams& rope);
    NodeId rope(std::string name, NodeId x, NodeId table, const RopeAttributes& attributes);
    NodeId store_kv(std::string name, NodeId k, NodeId v, NodeId cells, size_t layer);
    NodeId attention(std::string name, NodeId q, NodeId stored, NodeId cell_map, const AttentionAttributes& attributes);
    NodeId select_rows(std::string name, NodeId x, NodeId rows);
    NodeId view(std::string name, NodeId x, size_t offset, Shape shape);
    NodeId swiglu(std::string name, NodeId gate, NodeId up);
    NodeId bias_rope(std::string name, NodeId x, NodeId bias, NodeId table, const RopeAttributes& attributes);
    NodeId matmul_group(std::string name, NodeId x, const std::vector<NodeId>& weights);
    NodeId matmul_swiglu(std::string name, NodeId x, NodeId gate, NodeId up);

    // Marks a node whose values the caller reads after a run.
    void output(NodeId id);
    // The graph. Throws ShapeError where it has neither outputs nor a StoreKv: nothing would come of running it.
    Graph finish() &&;

  private:
    NodeId input(InputKind kind, size_t rows);
    NodeId add_node(Op op, std::string name, std::vector<NodeId> inputs, Attributes attributes = {});

    const WeightTable& weights_;
    GraphParams params_;
    Graph graph_;
    std::vector<std::optional<NodeId>> weight_nodes_;  // by WeightId
    std::vector<std::optional<NodeId>> input_nodes_;   // by InputKind
};

}  // namespace minfer::graph
