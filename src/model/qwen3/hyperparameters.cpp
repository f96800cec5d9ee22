#include "model/qwen3/hyperparameters.h"

namespace minfer::model::qwen3 {

Hyperparameters read_hyperparameters(const gguf::Gguf& file) {
    return model::read_hyperparameters(file, graph::RopeLayout::Half);
}

}  // namespace minfer::model::qwen3
