// The qwen3.* keys. RoPE's pairs are the two halves of a head; attention.key_length gives a head's size, which is
// not n_embd / n_head.
#pragma once

#include "model/hyperparameters.h"

namespace minfer::model::qwen3 {

Hyperparameters read_hyperparameters(const gguf::Gguf& file);

}  // namespace minfer::model::qwen3
