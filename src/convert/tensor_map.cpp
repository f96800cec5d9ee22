#include "convert/tensor_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "gguf/value.h"

namespace minfer::convert {
namespace {

// Sizes of which a shape is made, each a number of config.json.
enum class Size { None, Embd, Ff, Vocab, Heads, HeadsKv, HeadDim };

// Linear maps whose biases come together in a Llama: all of a group in every layer, or none. config.json has a flag for
// each group.
enum class Group { None, Attention, Mlp };

struct Mapping {
    std::string_view hf;    // without "model.layers.N." and ".weight"
    std::string_view gguf;  // without "blk.N." and ".weight"
    Size rows, columns;     // columns None: one dimension
    Group group = Group::None;
    bool qwen2_bias = false;  // has a bias in every Qwen2; the others there have none
    bool qwen3_only = false;
};

constexpr std::array<Mapping, 2> kTop = {{
    {"model.embed_tokens", "token_embd", Size::Vocab, Size::Embd},
    {"model.norm", "output_norm", Size::Embd, Size::None},
}};
constexpr Mapping kOutput = {"lm_head", "output", Size::Vocab, Size::Embd};
constexpr std::array<Mapping, 11> kLayer = {{
    {"input_layernorm", "attn_norm", Size::Embd, Size::None},
    {"post_attention_layernorm", "ffn_norm", Size::Embd, Size::None},
    {"self_attn.q_proj", "attn_q", Size::Heads, Size::Embd, Group::Attention, true},
    {"self_attn.k_proj", "attn_k", Size::HeadsKv, Size::Embd, Group::Attention, true},
    {"self_attn.v_proj", "attn_v", Size::HeadsKv, Size::Embd, Group::Attention, true},
    {"self_attn.o_proj", "attn_output", Size::Embd, Size::Heads, Group::Attention},
    {"self_attn.q_norm", "attn_q_norm", Size::HeadDim, Size::None, Group::None, false, true},
    {"self_attn.k_norm", "attn_k_norm", Size::HeadDim, Size::None, Group::None, false, true},
    {"mlp.gate_proj", "ffn_gate", Size::Ff, Size::Embd, Group::Mlp},
    {"mlp.up_proj", "ffn_up", Size::Ff, Size::Embd, Group::Mlp},
    {"mlp.down_proj", "ffn_down", Size::Embd, Size::Ff, Group::Mlp},
}};

constexpr std::string_view kLayerPrefix = "model.layers.";
constexpr std::string_view kWeight = ".weight", kBias = ".bias";

uint64_t size_of(Size size, const ModelConfig& config) {
    switch (size) {
        case Size::Embd:
            return config.n_embd;
        case Size::Ff:
            return config.n_ff;
        case Size::Vocab:
            return config.n_vocab;
        case Size::Heads:
            return config.n_head * config.head_dim;
        case Size::HeadsKv:
            return config.n_head_kv * config.head_dim;
        case Size::HeadDim:
            return config.head_dim;
        case Size::None:
            break;
    }
    return 0;
}

// Whether a GGUF file of this architecture has a place for the map's bias. Qwen3's has none for o_proj, which has one
// wherever q, k and v have: so none of them does.
bool may_have_bias(const Mapping& m, Architecture architecture) {
    switch (architecture) {
        case Architecture::Qwen2:
            return m.qwen2_bias;
        case Architecture::Qwen3:
            return false;
        case Architecture::Llama:
            break;
    }
    return m.group != Group::None;
}

// A checkpoint's name taken apart.
struct Parsed {
    const Mapping* mapping = nullptr;
    std::optional<uint64_t> layer;
    std::string_view kind;  // kWeight or kBias

    std::string gguf() const {
        return layer ? fmt::format("blk.{}.{}{}", *layer, mapping->gguf, kind)
                     : fmt::format("{}{}", mapping->gguf, kind);
    }
    std::string hf() const {
        return layer ? fmt::format("{}{}.{}{}", kLayerPrefix, *layer, mapping->hf, kind)
                     : fmt::format("{}{}", mapping->hf, kind);
    }
};

std::optional<uint64_t> take_layer(std::string_view& rest, uint64_t n_layer) {
    uint64_t layer = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), layer);
    const size_t digits = size_t(end - rest.data());
    const bool plain = error == std::errc() && (digits == 1 || rest[0] != '0');  // "01" is no layer's name
    if (!plain || layer >= n_layer || digits >= rest.size() || rest[digits] != '.') return std::nullopt;
    rest.remove_prefix(digits + 1);
    return layer;
}

std::optional<Parsed> parse_name(std::string_view name, const ModelConfig& config) {
    Parsed parsed;
    parsed.kind = name.ends_with(kBias) ? kBias : kWeight;
    if (!name.ends_with(parsed.kind)) return std::nullopt;
    name.remove_suffix(parsed.kind.size());
    if (name.starts_with(kLayerPrefix)) {
        name.remove_prefix(kLayerPrefix.size());
        parsed.layer = take_layer(name, config.n_layer);
        if (!parsed.layer) return std::nullopt;
        for (const Mapping& m : kLayer)
            if (m.hf == name && (!m.qwen3_only || config.architecture == Architecture::Qwen3)) parsed.mapping = &m;
    } else {
        for (const Mapping& m : kTop)
            if (m.hf == name) parsed.mapping = &m;
        if (kOutput.hf == name) parsed.mapping = &kOutput;
    }
    if (!parsed.mapping || (parsed.kind == kBias && !may_have_bias(*parsed.mapping, config.architecture)))
        return std::nullopt;
    return parsed;
}

// "model.rotary_emb.inv_freq" or a layer's: what old checkpoints saved of the rotary embedding's frequencies, which
// config.json gives.
bool is_rotary_cache(std::string_view name, uint64_t n_layer) {
    if (name == "model.rotary_emb.inv_freq") return true;
    if (!name.starts_with(kLayerPrefix)) return false;
    name.remove_prefix(kLayerPrefix.size());
    return take_layer(name, n_layer) && name == "self_attn.rotary_emb.inv_freq";
}

// For the name of a layer's tensor with a number that config.json does not reach, what to say of that; else nothing.
std::string past_last_layer(std::string_view name, uint64_t n_layer) {
    if (!name.starts_with(kLayerPrefix)) return "";
    name.remove_prefix(kLayerPrefix.size());
    const bool is_known = take_layer(name, n_layer).has_value();
    const bool is_layer = is_known || take_layer(name, std::numeric_limits<uint64_t>::max()).has_value();
    return is_known || !is_layer ? "" : fmt::format("; config.json has num_hidden_layers {}", n_layer);
}

[[noreturn]] void refuse_unmapped(const std::string& name, const ModelConfig& config) {
    throw UnsupportedError(fmt::format(
        "HuggingFace tensor {} has no GGUF mapping in minfer's {} converter; supported tensors are "
        "model.embed_tokens, model.norm, lm_head, and model.layers.N.{{input_layernorm,post_attention_layernorm,"
        "self_attn.{{q,k,v,o}}_proj,{}mlp.{{gate,up,down}}_proj}} — minfer refuses to drop a weight it does not "
        "recognise{}",
        gguf::in_quotes(name), title(config.architecture),
        config.architecture == Architecture::Qwen3 ? "self_attn.{q,k}_norm," : "",
        past_last_layer(name, config.n_layer)));
}

void check_shape(const SourceTensor& tensor, const std::vector<uint64_t>& expected, const std::string& path) {
    if (tensor.shape != expected)
        throw FormatError(path, "tensor " + gguf::in_quotes(tensor.name),
                          fmt::format("shape [{}]", fmt::join(tensor.shape, ", ")),
                          fmt::format("[{}] by config.json", fmt::join(expected, ", ")));
}

// What a checkpoint has, held against what its configuration demands of it.
class Completeness {
  public:
    Completeness(const std::map<std::string, std::string>& shard_of, const ModelConfig& config,
                 const std::string& checkpoint_path)
        : shard_of_(shard_of), config_(config), path_(checkpoint_path) {}

    void check() const {
        const std::string why =
            fmt::format("for a {} model of {} layers", title(config_.architecture), config_.n_layer);
        for (const Mapping& m : kTop) expect(true, {&m, std::nullopt, kWeight}, why);
        for_each_layer([&](uint64_t layer, const Mapping& m) {
            if (!m.qwen3_only || config_.architecture == Architecture::Qwen3) expect(true, {&m, layer, kWeight}, why);
        });
        if (config_.architecture == Architecture::Llama) {
            check_biases(Group::Attention, "attention_bias", config_.attention_bias);
            check_biases(Group::Mlp, "mlp_bias", config_.mlp_bias);
        } else {
            for_each_layer([&](uint64_t layer, const Mapping& m) {
                if (may_have_bias(m, config_.architecture)) expect(true, {&m, layer, kBias}, why);
            });
        }
        if (config_.tied_output)
            expect(!*config_.tied_output, {&kOutput, std::nullopt, kWeight},
                   fmt::format("for config.json has tie_word_embeddings {}", *config_.tied_output));
    }

  private:
    template <typename Call>
    void for_each_layer(Call call) const {
        for (uint64_t layer = 0; layer < config_.n_layer; ++layer)
            for (const Mapping& m : kLayer) call(layer, m);
    }

    void expect(bool present, const Parsed& tensor, const std::string& why) const {
        const auto at = shard_of_.find(tensor.gguf());
        const bool found = at != shard_of_.end();
        if (found == present) return;
        throw FormatError(found ? at->second : path_, fmt::format("tensor '{}'", tensor.hf()),
                          found ? "one" : "no such tensor", fmt::format("{}, {}", present ? "one" : "none", why));
    }

    // Where config.json does not say, the first bias of the group says that there are all.
    void check_biases(Group group, std::string_view key, std::optional<bool> flag) const {
        std::string why = flag ? fmt::format("for config.json has {} {}", key, *flag) : "";
        if (!flag)
            for_each_layer([&](uint64_t layer, const Mapping& m) {
                const Parsed tensor = {&m, layer, kBias};
                if (flag || m.group != group || !shard_of_.contains(tensor.gguf())) return;
                flag = true;
                why = fmt::format("for there is '{}'", tensor.hf());
            });
        for_each_layer([&](uint64_t layer, const Mapping& m) {
            if (m.group == group) expect(flag.value_or(false), {&m, layer, kBias}, why);
        });
    }

    const std::map<std::string, std::string>& shard_of_;  // by GGUF's name of a tensor
    const ModelConfig& config_;
    const std::string& path_;
};

}  // namespace

std::vector<MappedTensor> map_tensors(const Checkpoint& checkpoint, const ModelConfig& config,
                                      const std::string& checkpoint_path) {
    std::vector<MappedTensor> mapped;
    std::map<std::string, std::string> shard_of;
    for (size_t i = 0; i < checkpoint.tensors().size(); ++i) {
        const SourceTensor& tensor = checkpoint.tensors()[i];
        const std::string& shard = checkpoint.shards()[tensor.shard].path();
        if (is_rotary_cache(tensor.name, config.n_layer)) continue;
        const std::optional<Parsed> parsed = parse_name(tensor.name, config);
        if (!parsed) refuse_unmapped(tensor.name, config);
        if (tensor.dtype == Dtype::Other)
            throw UnsupportedError(
                fmt::format("tensor {} has safetensors dtype {}; minfer converts bf16, f16 and "
                            "f32 only",
                            gguf::in_quotes(tensor.name), gguf::in_quotes(tensor.dtype_name)));
        const Mapping& m = *parsed->mapping;
        MappedTensor out;
        out.source = i;
        out.name = parsed->gguf();
        out.shape = {size_of(m.rows, config)};
        if (m.columns != Size::None && parsed->kind == kWeight) out.shape.push_back(size_of(m.columns, config));
        check_shape(tensor, out.shape, shard);
        if (config.architecture == Architecture::Llama) {
            if (m.gguf == "attn_q") out.permuted_heads = config.n_head;
            if (m.gguf == "attn_k") out.permuted_heads = config.n_head_kv;
        }
        shard_of.emplace(out.name, shard);
        mapped.push_back(std::move(out));
    }
    Completeness(shard_of, config, checkpoint_path).check();
    return mapped;
}

}  // namespace minfer::convert
