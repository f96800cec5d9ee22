// config.json of a checkpoint: the architecture and its sizes, as the HuggingFace class of that architecture reads
// them. Absent keys take that class's documented defaults only where checkpoints are known to leave them out; a size is
// never guessed. What the architecture can say and GGUF cannot (or minfer does not run) is an UnsupportedError naming
// the key. Source of the defaults: github.com/huggingface/transformers, models/*/configuration_*.py and
// modeling_rope_utils.py.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "convert/json_file.h"

namespace minfer::convert {

enum class Architecture { Qwen2, Qwen3, Llama };

std::string_view gguf_name(Architecture architecture);  // "qwen2", the value of general.architecture
std::string_view title(Architecture architecture);      // "Qwen2", for messages

struct RopeScaling {
    enum class Type { Linear, Yarn, Llama3 } type = Type::Linear;
    double factor = 1;
    uint64_t original_context = 0;  // positions; Yarn and Llama3
    // Yarn; what the checkpoint does not say is not written.
    std::optional<double> extrapolation_factor, attention_factor, beta_fast, beta_slow;
    // Llama3
    double low_freq_factor = 1, high_freq_factor = 4;
};

struct ModelConfig {
    Architecture architecture = Architecture::Qwen2;
    uint64_t n_layer = 0;
    uint64_t n_context = 0;  // max_position_embeddings
    uint64_t n_embd = 0;     // hidden_size
    uint64_t n_ff = 0;       // intermediate_size
    uint64_t n_head = 0, n_head_kv = 0;
    uint64_t head_dim = 0;
    bool write_head_dim = false;  // whether the reference writes key_length and value_length
    uint64_t n_vocab = 0;         // rows of the embedding
    double rms_norm_eps = 0;
    double rope_theta = 0;
    std::optional<RopeScaling> rope_scaling;
    std::optional<bool> tied_output;               // tie_word_embeddings, where the checkpoint says
    std::optional<bool> attention_bias, mlp_bias;  // Llama, where the checkpoint says
};

constexpr uint64_t kMaxConfigBytes = 1 << 20;

// `path` is for messages.
ModelConfig parse_model_config(const Json& tree, const std::string& path);

}  // namespace minfer::convert
