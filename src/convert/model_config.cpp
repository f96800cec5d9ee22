#include "convert/model_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "base/error.h"

namespace minfer::convert {
namespace {

struct KnownClass {
    std::string_view hf_class, model_type;
    Architecture architecture;
};
constexpr std::array<KnownClass, 4> kKnownClasses = {{
    {"Qwen2ForCausalLM", "qwen2", Architecture::Qwen2},
    {"Qwen3ForCausalLM", "qwen3", Architecture::Qwen3},
    {"LlamaForCausalLM", "llama", Architecture::Llama},
    {"MistralForCausalLM", "mistral", Architecture::Llama},
}};

// No model is near these. They keep a row of values, and every product of two sizes, small.
constexpr uint64_t kMaxSize = 1 << 20;
constexpr uint64_t kMaxLayers = 10'000;
constexpr uint64_t kMaxVocab = 1 << 24;
constexpr uint64_t kMaxContext = 1 << 28;  // of positions; what minfer runs

Architecture find_architecture(const JsonObject& config) {
    const std::string model_type = config.string("model_type").value_or("");
    const std::vector<std::string> classes = config.strings("architectures").value_or(std::vector<std::string>{});
    for (const KnownClass& known : kKnownClasses)
        if (classes.size() == 1 && classes[0] == known.hf_class && model_type == known.model_type)
            return known.architecture;
    std::vector<std::string> supported, quoted;
    for (const KnownClass& known : kKnownClasses)
        supported.push_back(fmt::format("'{}' (model_type \"{}\")", known.hf_class, known.model_type));
    for (const std::string& name : classes) quoted.push_back(fmt::format("\"{}\"", name));
    throw UnsupportedError(
        fmt::format("unsupported architecture (model_type = \"{}\", architectures = [{}]); minfer's converter supports "
                    "{} only",
                    model_type, fmt::join(quoted, ", "), fmt::join(supported, ", ")));
}

[[noreturn]] void refuse(const JsonObject& config, std::string_view key, std::string_view why) {
    throw UnsupportedError(
        fmt::format("{}: {} is {}; {}", config.path(), config.field(key), describe(*config.find(key)), why));
}

// Keys with which the same class computes something that the architecture's GGUF file does not say.
void refuse_variants(const JsonObject& config, Architecture architecture, bool mistral) {
    if (config.string("hidden_act").value_or("silu") != "silu")
        refuse(config, "hidden_act", "minfer converts models with silu only");
    if (config.has("quantization_config"))
        throw UnsupportedError(
            fmt::format("{}: key 'quantization_config': the weights are quantized already; minfer "
                        "converts bf16, f16 and f32 only",
                        config.path()));
    if (config.boolean("is_causal") == false)
        refuse(config, "is_causal", "minfer runs models with causal attention only");
    if (config.boolean("use_sliding_window") == true || (mistral && config.has("sliding_window")))
        refuse(
            config, mistral ? "sliding_window" : "use_sliding_window",
            "minfer does not run a sliding attention window, and a GGUF file of this architecture cannot ask for one");
    if (const auto layers = config.strings("layer_types"))
        for (const std::string& layer : *layers)
            if (layer != "full_attention")
                throw UnsupportedError(fmt::format(
                    "{}: key 'layer_types' has '{}'; minfer converts full_attention only", config.path(), layer));
    for (const std::string_view key : {"num_local_experts", "num_experts", "n_routed_experts"})
        if (config.integer(key, 0, kMaxSize).value_or(0) != 0)
            refuse(config, key, "minfer does not convert mixtures of experts");
    if (architecture == Architecture::Qwen3 && config.boolean("attention_bias") == true)
        refuse(config, "attention_bias", "a GGUF file of this architecture has no place for the bias of o_proj");
    if (config.has("draft_vocab_size")) refuse(config, "draft_vocab_size", "minfer does not convert draft heads");
    if (config.number("partial_rotary_factor").value_or(1.0) != 1.0)
        refuse(config, "partial_rotary_factor", "minfer rotates whole heads only");
}

double positive(const JsonObject& object, std::string_view key, double value) {
    if (!(value > 0) || !std::isfinite(float(value)) || float(value) == 0)
        throw FormatError(object.path(), object.field(key), fmt::format("the number {}", value),
                          "a positive number that float32 holds");
    return value;
}

double positive_or(const JsonObject& object, std::string_view key, double otherwise) {
    return positive(object, key, object.number(key).value_or(otherwise));
}

std::optional<double> positive_if(const JsonObject& object, std::string_view key) {
    const std::optional<double> value = object.number(key);
    return value ? std::optional(positive(object, key, *value)) : std::nullopt;
}

void read_rope(const JsonObject& config, ModelConfig& out) {
    constexpr double kDefaultTheta = 10'000;
    out.rope_theta = positive_or(config, "rope_theta", kDefaultTheta);
    // rope_parameters is what newer checkpoints have in place of rope_scaling; it may hold rope_theta too.
    std::optional<JsonObject> rope = config.object("rope_scaling");
    if (!rope || rope->tree().empty()) rope = config.object("rope_parameters");
    if (!rope || rope->tree().empty()) return;
    for (const std::string_view key : {"full_attention", "sliding_attention", "mrope_section"})
        if (rope->has(key)) refuse(*rope, key, "minfer runs one plain rotary embedding for all layers only");
    if (rope->number("partial_rotary_factor").value_or(1.0) != 1.0)
        refuse(*rope, "partial_rotary_factor", "minfer rotates whole heads only");
    out.rope_theta = positive_or(*rope, "rope_theta", out.rope_theta);

    const std::string_view type_key = rope->has("rope_type") ? "rope_type" : "type";
    const std::string type = rope->string(type_key).value_or("default");
    if (type == "default") return;
    RopeScaling scaling;
    if (type == "linear") {
        scaling.type = RopeScaling::Type::Linear;
    } else if (type == "yarn") {
        scaling.type = RopeScaling::Type::Yarn;
    } else if (type == "llama3" && out.architecture == Architecture::Llama) {
        scaling.type = RopeScaling::Type::Llama3;
    } else {
        refuse(*rope, type_key,
               fmt::format("minfer's {} converter knows linear, yarn{}", title(out.architecture),
                           out.architecture == Architecture::Llama ? " and llama3 only" : " only"));
    }
    scaling.factor = positive(*rope, "factor", rope->require("factor", rope->number("factor"), "a number"));
    if (scaling.type != RopeScaling::Type::Linear) {
        const auto inner = rope->integer("original_max_position_embeddings", 1, kMaxContext);
        const auto outer = config.integer("original_max_position_embeddings", 1, kMaxContext);
        scaling.original_context = outer ? *outer : inner.value_or(out.n_context);
    }
    if (scaling.type == RopeScaling::Type::Yarn) {
        if (scaling.factor < 1)
            throw FormatError(rope->path(), rope->field("factor"), fmt::format("the number {}", scaling.factor),
                              "1 or more for yarn");
        if (rope->boolean("truncate") == false) refuse(*rope, "truncate", "minfer's yarn truncates its ramp only");
        for (const std::string_view key : {"mscale", "mscale_all_dim"})
            if (rope->has(key)) refuse(*rope, key, "minfer's yarn has one attention factor only");
        scaling.extrapolation_factor = positive_if(*rope, "extrapolation_factor");
        scaling.attention_factor =
            positive_if(*rope, rope->has("attention_factor") ? "attention_factor" : "attn_factor");
        scaling.beta_fast = positive_if(*rope, "beta_fast");
        scaling.beta_slow = positive_if(*rope, "beta_slow");
    }
    if (scaling.type == RopeScaling::Type::Llama3) {
        scaling.low_freq_factor = positive_or(*rope, "low_freq_factor", scaling.low_freq_factor);
        scaling.high_freq_factor = positive_or(*rope, "high_freq_factor", scaling.high_freq_factor);
        if (scaling.high_freq_factor <= scaling.low_freq_factor)
            throw FormatError(rope->path(), rope->field("high_freq_factor"),
                              fmt::format("the number {}", scaling.high_freq_factor),
                              fmt::format("more than low_freq_factor, {}", scaling.low_freq_factor));
    }
    out.rope_scaling = scaling;
}

}  // namespace

std::string_view gguf_name(Architecture architecture) {
    switch (architecture) {
        case Architecture::Qwen2:
            return "qwen2";
        case Architecture::Qwen3:
            return "qwen3";
        case Architecture::Llama:
            break;
    }
    return "llama";
}

std::string_view title(Architecture architecture) {
    switch (architecture) {
        case Architecture::Qwen2:
            return "Qwen2";
        case Architecture::Qwen3:
            return "Qwen3";
        case Architecture::Llama:
            break;
    }
    return "Llama";
}

ModelConfig parse_model_config(const Json& tree, const std::string& path) {
    const JsonObject config(path, "", tree);
    ModelConfig out;
    out.architecture = find_architecture(config);
    const bool mistral = config.string("model_type") == "mistral";
    refuse_variants(config, out.architecture, mistral);
    const auto size = [&](std::string_view key, uint64_t max) {
        return config.require(key, config.integer(key, 1, max), fmt::format("an integer from 1 to {}", max));
    };
    out.n_layer = size("num_hidden_layers", kMaxLayers);
    out.n_context = size("max_position_embeddings", kMaxContext);
    out.n_embd = size("hidden_size", kMaxSize);
    out.n_ff = size("intermediate_size", kMaxSize);
    out.n_head = size("num_attention_heads", kMaxSize);
    out.n_vocab = size("vocab_size", kMaxVocab);
    out.n_head_kv = config.integer("num_key_value_heads", 1, kMaxSize).value_or(mistral ? 8 : out.n_head);
    if (out.n_head % out.n_head_kv != 0)
        throw FormatError(path, config.field("num_key_value_heads"), fmt::format("{}", out.n_head_kv),
                          fmt::format("a divisor of num_attention_heads, {}", out.n_head));
    const std::optional<uint64_t> head_dim = config.integer("head_dim", 1, kMaxSize);
    constexpr uint64_t kQwen3HeadDim = 128;
    out.write_head_dim = head_dim.has_value() || out.architecture != Architecture::Qwen2;
    if (head_dim || out.architecture == Architecture::Qwen3) {
        out.head_dim = head_dim.value_or(kQwen3HeadDim);
    } else if (out.n_embd % out.n_head == 0) {
        out.head_dim = out.n_embd / out.n_head;
    } else {
        throw FormatError(path, config.field("hidden_size"), fmt::format("{}", out.n_embd),
                          fmt::format("a multiple of num_attention_heads, {}, where there is no head_dim", out.n_head));
    }
    if (out.head_dim % 2 != 0)
        throw FormatError(path, config.field("head_dim"), fmt::format("{}", out.head_dim),
                          "an even number, for the rotary embedding turns pairs");
    if (out.architecture == Architecture::Qwen2 && out.n_head * out.head_dim != out.n_embd)
        refuse(
            config, "head_dim",
            fmt::format("the {} heads of this architecture's GGUF file share hidden_size, {}", out.n_head, out.n_embd));
    out.rms_norm_eps =
        positive(config, "rms_norm_eps", config.require("rms_norm_eps", config.number("rms_norm_eps"), "a number"));
    out.tied_output = config.boolean("tie_word_embeddings");
    if (out.architecture == Architecture::Llama) {
        out.attention_bias = config.boolean("attention_bias");
        out.mlp_bias = config.boolean("mlp_bias");
    }
    read_rope(config, out);
    return out;
}

}  // namespace minfer::convert
