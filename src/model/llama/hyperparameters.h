// The llama.* keys. RoPE's pairs are adjacent numbers: the converter to GGUF has permuted Q and K so.
#pragma once

#include "model/hyperparameters.h"

namespace minfer::model::llama {

Hyperparameters read_hyperparameters(const gguf::Gguf& file);

}  // namespace minfer::model::llama
