// The tensors of a qwen2 file: queries, keys and values have biases, and the output may have one.
#pragma once

#include "model/decoder.h"

namespace minfer::model::qwen2 {

// Throws as WeightReader does.
DecoderWeights read_weights(WeightReader& reader, const Hyperparameters& h);

}  // namespace minfer::model::qwen2
