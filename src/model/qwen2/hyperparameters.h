// The qwen2.* keys. RoPE's pairs are the two halves of a head; heads have n_embd / n_head numbers.
#pragma once

#include "model/hyperparameters.h"

namespace minfer::model::qwen2 {

Hyperparameters read_hyperparameters(const gguf::Gguf& file);

}  // namespace minfer::model::qwen2
