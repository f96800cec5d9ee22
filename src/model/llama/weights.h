// The tensors of a llama file: the rows of Q and K lie permuted to adjacent pairs; each linear map may have a bias.
#pragma once

#include "model/decoder.h"

namespace minfer::model::llama {

// Throws as WeightReader does.
DecoderWeights read_weights(WeightReader& reader, const Hyperparameters& h);

}  // namespace minfer::model::llama
