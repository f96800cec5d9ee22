#include "model/llama/hyperparameters.h"

namespace minfer::model::llama {

Hyperparameters read_hyperparameters(const gguf::Gguf& file) {
    return model::read_hyperparameters(file, graph::RopeLayout::Interleaved);
}

}  // namespace minfer::model::llama
