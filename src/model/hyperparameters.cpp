#include "model/hyperparameters.h"

#include <fmt/format.h>

#include "base/canonical_math.h"
#include "base/error.h"
#include "model/metadata.h"

namespace minfer::model {
namespace {

// Keys that other models of the same names give, and that change what is computed.
constexpr std::string_view kRefusedKeys[] = {
    "expert_count",
    "attention.sliding_window",
    "attention.scale",
    "attention.clamp_kqv",
    "attention.max_alibi_bias",
    "attn_logit_softcapping",
    "final_logit_softcapping",
    "logit_scale",
    "embedding_scale",
    "residual_scale",
    "rope.dimension_sections",
    "rope.scaling.alpha",
    "use_parallel_residual",
};

void read_heads(const Metadata& keys, Hyperparameters& h) {
    h.n_head = keys.size("attention.head_count");
    h.n_head_kv = keys.size_if("attention.head_count_kv").value_or(h.n_head);
    if (h.n_head % h.n_head_kv != 0)
        keys.fail("attention.head_count_kv", fmt::format("{}", h.n_head_kv),
                  fmt::format("a divisor of {} = {}", keys.key("attention.head_count"), h.n_head));

    const std::optional<size_t> key_length = keys.size_if("attention.key_length");
    const std::optional<size_t> value_length = keys.size_if("attention.value_length");
    if ((!key_length || !value_length) && h.n_embd % h.n_head != 0)
        keys.fail("attention.head_count", fmt::format("{}", h.n_head),
                  fmt::format("a divisor of {} = {}, as {} does not say how long a head is",
                              keys.key("embedding_length"), h.n_embd, keys.key("attention.key_length")));
    h.head_dim = key_length.value_or(h.n_embd / h.n_head);
    if (const size_t value_dim = value_length.value_or(h.n_embd / h.n_head); value_dim != h.head_dim)
        keys.unsupported("attention.value_length",
                         fmt::format("values of {} numbers a head and keys of {} ({}): minfer needs one size",
                                     value_dim, h.head_dim, keys.key("attention.key_length")));
    if (h.head_dim % 2 != 0)
        keys.fail("attention.key_length", fmt::format("heads of {} numbers", h.head_dim),
                  "an even number, for RoPE turns pairs");
    if (h.q_dim() > kLargestSize)
        keys.fail("attention.head_count", fmt::format("{} heads of {} numbers", h.n_head, h.head_dim),
                  fmt::format("at most {} numbers together", kLargestSize));
}

void read_vocabulary(const Metadata& keys, Hyperparameters& h) {
    const gguf::Gguf& file = keys.file();
    h.n_vocab = size_t(file.tensor("token_embd.weight").ne[1]);
    const std::string rows = fmt::format("{}, the rows of tensor 'token_embd.weight'", h.n_vocab);
    if (h.n_vocab > kLargestSize)
        throw FormatError(file.path(), "tensor 'token_embd.weight'", fmt::format("{} rows", h.n_vocab),
                          fmt::format("at most {}", kLargestSize));
    if (const gguf::Value* tokens = file.find("tokenizer.ggml.tokens"); tokens && tokens->count() != h.n_vocab)
        throw FormatError(file.path(), "key tokenizer.ggml.tokens", fmt::format("{} tokens", tokens->count()), rows);
    if (const std::optional<size_t> size = keys.size_if("vocab_size"); size && *size != h.n_vocab)
        keys.fail("vocab_size", fmt::format("{}", *size), rows);
}

void read_yarn(const Metadata& keys, size_t n_ctx_train, graph::RopeParams& rope) {
    if (rope.factor < 1) keys.fail("rope.scaling.factor", fmt::format("{}", rope.factor), "1 or more for yarn");
    keys.refuse("rope.scaling.yarn_log_multiplier");
    rope.n_ctx_orig = double(keys.size_if("rope.scaling.original_context_length").value_or(n_ctx_train));
    rope.beta_fast = keys.positive("rope.scaling.yarn_beta_fast", rope.beta_fast);
    rope.beta_slow = keys.positive("rope.scaling.yarn_beta_slow", rope.beta_slow);
    rope.ext_factor = keys.positive("rope.scaling.yarn_ext_factor", rope.ext_factor);
    rope.attn_factor = keys.positive("rope.scaling.attn_factor", rope.attn_factor);
    // A checkpoint's attention_factor, which the converter writes here, stands in place of the paper's
    // 1 + 0.1 ln(factor), by which the graph's RopeTable multiplies. llama.cpp reads this key for other architectures.
    if (keys.has("rope.scaling.yarn_attn_factor"))
        rope.attn_factor *= keys.positive("rope.scaling.yarn_attn_factor") / (1 + 0.1 * canonical_log(rope.factor));
}

graph::RopeParams read_rope(const Metadata& keys, const Hyperparameters& h) {
    using Scaling = graph::RopeParams::Scaling;
    graph::RopeParams rope;
    rope.n_rot = keys.size_if("rope.dimension_count").value_or(h.head_dim);
    if (rope.n_rot != h.head_dim)
        keys.unsupported("rope.dimension_count", fmt::format("found {}, but a head has {} numbers ({}), and minfer "
                                                             "rotates all of them",
                                                             rope.n_rot, h.head_dim, keys.key("attention.key_length")));
    rope.freq_base = keys.positive("rope.freq_base", rope.freq_base);

    // A factor without a type means linear, as in the first files that had one; their key was rope.scale_linear.
    const std::string_view type = keys.text_or("rope.scaling.type", "linear");
    const double factor = keys.has("rope.scaling.factor") ? keys.positive("rope.scaling.factor")
                                                          : keys.positive("rope.scale_linear", 1.0);
    if (type == "yarn") {
        rope.scaling = Scaling::Yarn;
        rope.factor = factor;
        read_yarn(keys, h.n_ctx_train, rope);
        return rope;
    }
    if (type != "none" && type != "linear")
        keys.unsupported("rope.scaling.type",
                         fmt::format("unsupported RoPE scaling {}; there are none, linear, yarn, and the factors of "
                                     "tensor 'rope_freqs.weight'",
                                     gguf::in_quotes(type)));
    if (keys.positive("rope.scaling.attn_factor", 1.0) != 1.0)
        keys.unsupported("rope.scaling.attn_factor", "minfer computes it with yarn only");
    if (type == "linear" && factor != 1) {
        rope.scaling = Scaling::Linear;
        rope.factor = factor;
    }
    return rope;
}

}  // namespace

Hyperparameters read_hyperparameters(const gguf::Gguf& file, graph::RopeLayout rope_layout) {
    const Metadata keys(file);
    for (const std::string_view key : kRefusedKeys) keys.refuse(key);
    Hyperparameters h;
    h.architecture = keys.architecture();
    h.n_ctx_train = keys.size("context_length");
    h.n_embd = keys.size("embedding_length");
    h.n_layer = keys.size("block_count");
    if (h.n_layer > file.tensors().size())
        keys.fail("block_count", fmt::format("{}", h.n_layer),
                  fmt::format("at most the {} tensors of the file", file.tensors().size()));
    h.n_ff = keys.size("feed_forward_length");
    read_heads(keys, h);
    h.rms_eps = float(keys.positive("attention.layer_norm_rms_epsilon"));
    read_vocabulary(keys, h);
    h.rope = read_rope(keys, h);
    h.rope_layout = rope_layout;
    return h;
}

}  // namespace minfer::model
