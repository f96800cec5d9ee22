// Qwen2 and Qwen2.5, dense: a decoder whose queries, keys and values have biases. Yang et al., 2024.
#pragma once

#include <memory>

#include "model/model.h"

namespace minfer::model::qwen2 {

// Throws as model::load does.
std::unique_ptr<Model> load(const gguf::Gguf& file);

}  // namespace minfer::model::qwen2
