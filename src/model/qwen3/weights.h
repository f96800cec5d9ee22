// The tensors of a qwen3 file: each query and key head has a norm; queries, keys and values may have biases.
#pragma once

#include "model/decoder.h"

namespace minfer::model::qwen3 {

// Throws as WeightReader does.
DecoderWeights read_weights(WeightReader& reader, const Hyperparameters& h);

}  // namespace minfer::model::qwen3
