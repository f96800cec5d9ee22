// Llama, and what has its shape: SmolLM2, Mistral. Touvron et al., 2023; Grattafiori et al., 2024.
#pragma once

#include <memory>

#include "model/model.h"

namespace minfer::model::llama {

// Throws as model::load does.
std::unique_ptr<Model> load(const gguf::Gguf& file);

}  // namespace minfer::model::llama
