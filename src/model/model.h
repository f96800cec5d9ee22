// A loaded model: its hyperparameters, its weights, and the forward pass as a graph.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "gguf/reader.h"
#include "graph/graph.h"
#include "graph/weight_table.h"
#include "kv/layout.h"
#include "model/hyperparameters.h"

namespace minfer::model {

class Model {
  public:
    virtual ~Model() = default;

    const Hyperparameters& hyperparameters() const { return hyperparameters_; }
    const graph::WeightTable& weights() const { return weights_; }

    // Cells for `n_cells` tokens of all sequences together.
    kv::Layout kv_layout(size_t n_cells, kv::CellType type) const;

    // The forward pass over a batch: reads all of graph::InputKind, stores the keys and values of each token and, where
    // params.n_output_rows > 0, has one output, the logits [n_output_rows][n_vocab]. Pure: a function of `params`
    // alone.
    virtual graph::Graph build_graph(const graph::GraphParams& params) const = 0;

  protected:
    Model(Hyperparameters hyperparameters, graph::WeightTable weights)
        : hyperparameters_(std::move(hyperparameters)), weights_(std::move(weights)) {}

  private:
    Hyperparameters hyperparameters_;
    graph::WeightTable weights_;
};

// The model that general.architecture names. The weights point into the file's mapping, so the file must outlive the
// model. Throws UnsupportedError for an architecture that is not in supported_architectures(), a weight type or a RoPE
// scaling that minfer does not compute, and FormatError, naming both sides, where metadata and tensors disagree.
std::unique_ptr<Model> load(const gguf::Gguf& file);

std::span<const std::string_view> supported_architectures();

}  // namespace minfer::model
