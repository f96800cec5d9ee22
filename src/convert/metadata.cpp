#include "convert/metadata.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"
#include "convert/checkpoint.h"

namespace minfer::convert {
namespace {

using gguf::Value;

// Keys of one architecture, or of the tokenizer.
class Keys {
  public:
    explicit Keys(std::string_view prefix) : prefix_(prefix) {}

    void u32(std::string_view key, uint64_t value) { add(key, Value::scalar(uint32_t(value))); }
    void f32(std::string_view key, double value) { add(key, Value::scalar(float(value))); }
    void boolean(std::string_view key, bool value) { add(key, Value::scalar(value)); }
    void string(std::string_view key, std::string_view value) { add(key, Value::string(value)); }
    void add(std::string_view key, Value value) {
        out_.push_back({fmt::format("{}.{}", prefix_, key), std::move(value)});
    }
    Metadata take() { return std::move(out_); }

  private:
    std::string prefix_;
    Metadata out_;
};

void add_rope_scaling(Keys& keys, const RopeScaling& scaling) {
    switch (scaling.type) {
        case RopeScaling::Type::Linear:
            keys.string("rope.scaling.type", "linear");
            keys.f32("rope.scaling.factor", scaling.factor);
            break;
        case RopeScaling::Type::Yarn:
            keys.string("rope.scaling.type", "yarn");
            keys.f32("rope.scaling.factor", scaling.factor);
            keys.u32("rope.scaling.original_context_length", scaling.original_context);
            if (scaling.extrapolation_factor) keys.f32("rope.scaling.yarn_ext_factor", *scaling.extrapolation_factor);
            if (scaling.attention_factor) keys.f32("rope.scaling.yarn_attn_factor", *scaling.attention_factor);
            if (scaling.beta_fast) keys.f32("rope.scaling.yarn_beta_fast", *scaling.beta_fast);
            if (scaling.beta_slow) keys.f32("rope.scaling.yarn_beta_slow", *scaling.beta_slow);
            break;
        case RopeScaling::Type::Llama3:
            break;  // a tensor of factors says it all
    }
}

}  // namespace

Metadata sampling_metadata(const JsonObject& generation_config) {
    struct Number {
        std::string_view gguf;
        std::array<std::string_view, 2> source;  // the first that is there counts
        bool integer = false;
    };
    constexpr std::array<Number, 11> kNumbers = {{
        {"top_k", {"top_k", ""}, true},
        {"top_p", {"top_p", ""}},
        {"min_p", {"min_p", ""}},
        {"xtc_probability", {"xtc_probability", ""}},
        {"xtc_threshold", {"xtc_threshold", ""}},
        {"temp", {"temperature", ""}},
        {"penalty_last_n", {"penalty_last_n", ""}, true},
        {"penalty_repeat", {"penalty_repeat", "repetition_penalty"}},
        {"mirostat", {"mirostat", ""}, true},
        {"mirostat_tau", {"mirostat_tau", ""}},
        {"mirostat_eta", {"mirostat_eta", ""}},
    }};
    Keys keys("general.sampling");
    if (const auto sequence = generation_config.string("sequence")) keys.string("sequence", *sequence);
    for (const Number& number : kNumbers) {
        const std::string_view source = generation_config.has(number.source[0]) ? number.source[0] : number.source[1];
        const Json* value = generation_config.find(source);
        if (!value) continue;
        if (number.integer) {
            const bool fits = value->is_number_unsigned()
                                  ? std::in_range<int32_t>(value->get<uint64_t>())
                                  : value->is_number_integer() && std::in_range<int32_t>(value->get<int64_t>());
            if (!fits)
                throw FormatError(generation_config.path(), generation_config.field(source), describe(*value),
                                  "an integer of 32 bits");
            keys.add(number.gguf, Value::scalar(value->get<int32_t>()));
        } else {
            const double real = *generation_config.number(source);
            if (!std::isfinite(float(real)))
                throw FormatError(generation_config.path(), generation_config.field(source), describe(*value),
                                  "a number that float32 holds");
            keys.f32(number.gguf, real);
        }
    }
    return keys.take();
}

Metadata model_metadata(const ModelConfig& config) {
    Keys keys(gguf_name(config.architecture));
    keys.u32("block_count", config.n_layer);
    keys.u32("context_length", config.n_context);
    keys.u32("embedding_length", config.n_embd);
    keys.u32("feed_forward_length", config.n_ff);
    keys.u32("attention.head_count", config.n_head);
    keys.u32("attention.head_count_kv", config.n_head_kv);
    if (config.rope_scaling) add_rope_scaling(keys, *config.rope_scaling);
    keys.f32("rope.freq_base", config.rope_theta);
    keys.f32("attention.layer_norm_rms_epsilon", config.rms_norm_eps);
    if (config.write_head_dim) {
        keys.u32("attention.key_length", config.head_dim);
        keys.u32("attention.value_length", config.head_dim);
    }
    if (config.architecture == Architecture::Llama) {
        keys.u32("vocab_size", config.n_vocab);
        keys.u32("rope.dimension_count", config.head_dim);
    }
    return keys.take();
}

Metadata pooling_metadata(const std::filesystem::path& folder, Architecture architecture) {
    if (architecture == Architecture::Llama || !is_there(folder / "modules.json")) return {};
    const std::string path = (folder / "modules.json").string();
    const Json modules = parse_json(read_text_file(path, kMaxConfigBytes), path);
    if (!modules.is_array()) throw FormatError(path, "top level", describe(modules), "a list of modules");
    for (size_t i = 0; i < modules.size(); ++i) {
        if (!modules[i].is_object()) throw FormatError(path, "modules", describe(modules[i]), "objects");
        const JsonObject module(path, fmt::format("[{}].", i), modules[i]);
        if (!module.require("type", module.string("type"), "a string").ends_with("Pooling")) continue;
        const std::string inner = module.require("path", module.string("path"), "a folder");
        const std::string config_path =
            (path_within(folder, inner, path, module.field("path")) / "config.json").string();
        const Json tree = read_json_object(config_path, kMaxConfigBytes);
        const JsonObject config(config_path, "", tree);
        constexpr uint32_t kMean = 1, kCls = 2, kLast = 3;  // llama.cpp's llama_pooling_type
        const std::string mode = config.string("pooling_mode").value_or("");
        Keys keys(gguf_name(architecture));
        if (config.boolean("pooling_mode_mean_tokens") == true)
            keys.u32("pooling_type", kMean);
        else if (config.boolean("pooling_mode_cls_token") == true)
            keys.u32("pooling_type", kCls);
        else if (config.boolean("pooling_mode_lasttoken") == true)
            keys.u32("pooling_type", kLast);
        else if (mode == "mean" || mode == "cls" || mode == "lasttoken")
            keys.u32("pooling_type", mode == "mean" ? kMean : mode == "cls" ? kCls : kLast);
        else
            throw UnsupportedError(fmt::format("{}: the pooling is none of mean, cls and lasttoken", config_path));
        return keys.take();
    }
    return {};
}

Metadata tokenizer_metadata(std::string_view pre_tokenizer, const TokenList& tokens,
                            const std::vector<std::string>& merges, const SpecialTokens& special,
                            const ChatTemplates& templates) {
    Keys keys("tokenizer.ggml");
    keys.string("model", "gpt2");
    keys.string("pre", pre_tokenizer);
    keys.add("tokens", Value::strings(tokens.tokens));
    keys.add("token_type", Value::array(std::span<const int32_t>(tokens.types)));
    if (!merges.empty()) keys.add("merges", Value::strings(merges));
    for (const auto& [kind, id] : special.ids) {
        const std::string_view word = kind == "unk"   ? "unknown"
                                      : kind == "sep" ? "seperator"  // the format's spelling
                                      : kind == "pad" ? "padding"
                                                      : std::string_view(kind);
        keys.u32(fmt::format("{}_token_id", word), id);
    }
    for (const auto& [kind, add] : special.added) keys.boolean(fmt::format("add_{}_token", kind), add);
    Metadata out = keys.take();
    Keys chat("tokenizer");
    std::vector<std::string> names;
    for (const auto& [name, text] : templates.named) {
        chat.string("chat_template." + name, text);
        names.push_back(name);
    }
    if (!names.empty()) chat.add("chat_templates", Value::strings(names));
    if (templates.main) chat.string("chat_template", *templates.main);
    for (gguf::KeyValue& entry : chat.take()) out.push_back(std::move(entry));
    return out;
}

Metadata llama_tokenizer_metadata(const JsonObject& tokenizer_config, uint64_t n_vocab) {
    constexpr uint64_t kCodeLlamaVocab = 32016;  // its infilling tokens stand at fixed ids
    constexpr uint64_t kSmallVocab = 49152;      // Granite's and SmolLM's: no bos before a text
    Keys keys("tokenizer.ggml");
    if (const auto prefix = tokenizer_config.boolean("add_prefix_space")) keys.boolean("add_space_prefix", *prefix);
    if (n_vocab == kCodeLlamaVocab) {
        keys.u32("prefix_token_id", 32007);
        keys.u32("suffix_token_id", 32008);
        keys.u32("middle_token_id", 32009);
        keys.u32("eot_token_id", 32010);
    }
    if (n_vocab == kSmallVocab) keys.boolean("add_bos_token", false);
    return keys.take();
}

uint32_t file_type(gguf::TensorType type) {
    switch (type) {
        case gguf::TensorType::F32:
            return 0;
        case gguf::TensorType::F16:
            return 1;
        case gguf::TensorType::Q8_0:
            return 7;
        case gguf::TensorType::BF16:
            return 32;
        default:
            throw UnsupportedError(fmt::format("no file type for {}", gguf::type_name(type)));
    }
}

}  // namespace minfer::convert
