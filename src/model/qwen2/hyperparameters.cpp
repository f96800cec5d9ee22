#include "model/qwen2/hyperparameters.h"

#include <fmt/format.h>

#include "model/metadata.h"

namespace minfer::model::qwen2 {

Hyperparameters read_hyperparameters(const gguf::Gguf& file) {
    Hyperparameters h = model::read_hyperparameters(file, graph::RopeLayout::Half);
    if (h.q_dim() != h.n_embd) {
        const Metadata keys(file);
        keys.fail("attention.key_length", fmt::format("{} heads of {} numbers", h.n_head, h.head_dim),
                  fmt::format("{} = {} numbers together", keys.key("embedding_length"), h.n_embd));
    }
    return h;
}

}  // namespace minfer::model::qwen2
