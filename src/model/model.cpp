#include "model/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "base/error.h"
#include "model/llama/llama.h"
#include "model/qwen2/qwen2.h"
#include "model/qwen3/qwen3.h"

namespace minfer::model {
namespace {

struct Architecture {
    std::string_view name;
    std::unique_ptr<Model> (*load)(const gguf::Gguf& file);
};

constexpr std::array kArchitectures = {
    Architecture{"llama", llama::load},
    Architecture{"qwen2", qwen2::load},
    Architecture{"qwen3", qwen3::load},
};

constexpr std::array kNames = {kArchitectures[0].name, kArchitectures[1].name, kArchitectures[2].name};

}  // namespace

std::span<const std::string_view> supported_architectures() { return kNames; }

kv::Layout Model::kv_layout(size_t n_cells, kv::CellType type) const {
    const Hyperparameters& h = hyperparameters_;
    return {h.n_layer, n_cells, h.n_head_kv, h.head_dim, h.head_dim, type};
}

std::unique_ptr<Model> load(const gguf::Gguf& file) {
    const std::string_view name = file.architecture();
    for (const Architecture& architecture : kArchitectures)
        if (architecture.name == name) return architecture.load(file);
    throw UnsupportedError(fmt::format("Unsupported architecture: {}; minfer runs {}", gguf::in_quotes(name),
                                       fmt::join(supported_architectures(), ", ")));
}

}  // namespace minfer::model
