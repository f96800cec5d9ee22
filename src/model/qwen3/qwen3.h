// Qwen3, dense: a decoder that norms each query and key head before RoPE. Yang et al., 2025.
#pragma once

#include <memory>

#include "model/model.h"

namespace minfer::model::qwen3 {

// Throws as model::load does.
std::unique_ptr<Model> load(const gguf::Gguf& file);

}  // namespace minfer::model::qwen3
