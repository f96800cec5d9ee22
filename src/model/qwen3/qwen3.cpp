#include "model/qwen3/qwen3.h"

#include <utility>

#include "model/decoder.h"
#include "model/qwen3/hyperparameters.h"
#include "model/qwen3/weights.h"
#include "model/weight_reader.h"

namespace minfer::model::qwen3 {
namespace {

class Qwen3 final : public Model {
  public:
    Qwen3(Hyperparameters hyperparameters, graph::WeightTable table, const Weights& weights)
        : Model(std::move(hyperparameters), std::move(table)), weights_(decoder_weights(weights)) {}

    graph::Graph build_graph(const graph::GraphParams& params) const override {
        return build_decoder(hyperparameters(), Model::weights(), weights_, params);
    }

  private:
    DecoderWeights weights_;
};

}  // namespace

std::unique_ptr<Model> load(const gguf::Gguf& file) {
    Hyperparameters hyperparameters = read_hyperparameters(file);
    graph::WeightTable table;
    WeightReader reader(file, table);
    const Weights weights = read_weights(reader, hyperparameters);
    reader.finish();
    return std::make_unique<Qwen3>(std::move(hyperparameters), std::move(table), weights);
}

}  // namespace minfer::model::qwen3
