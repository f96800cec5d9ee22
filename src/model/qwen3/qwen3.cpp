#include "model/qwen3/qwen3.h"

#include <utility>

#include "model/decoder.h"
#include "model/qwen3/hyperparameters.h"
#include "model/qwen3/weights.h"
#include "model/weight_reader.h"

namespace minfer::model::qwen3 {

std::unique_ptr<Model> load(const gguf::Gguf& file) {
    Hyperparameters hyperparameters = read_hyperparameters(file);
    graph::WeightTable table;
    WeightReader reader(file, table);
    DecoderWeights weights = read_weights(reader, hyperparameters);
    reader.finish();
    return make_decoder(std::move(hyperparameters), std::move(table), std::move(weights));
}

}  // namespace minfer::model::qwen3
