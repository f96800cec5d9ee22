#include "convert/tensor_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>

#include "base/error.h"
#include "gguf/value.h"

namespace minfer::convert {
namespace {

// Sizes of which a shape is made, each a number of config.json.
enum class Size { None, Embd, Ff, Vocab, Heads, HeadsKv, HeadDim };

struct Mapping {
    std::string_view hf;    // without "model.layers.N." and ".weight"
    std::string_view gguf;  // without "blk.N." and ".weight"
    Size rows, columns;     // columns None: one dimension
    bool may_have_bias = false;
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
    {"self_attn.q_proj", "attn_q", Size::Heads, Size::Embd, true},
    {"self_attn.k_proj", "attn_k", Size::HeadsKv, Size::Embd, true},
    {"self_attn.v_proj", "attn_v", Size::HeadsKv, Size::Embd, true},
    {"self_attn.o_proj", "attn_output", Size::Embd, Size::Heads, true},
    {"self_attn.q_norm", "attn_q_norm", Size::HeadDim, Size::None, false, true},
    {"self_attn.k_norm", "attn_k_norm", Size::HeadDim, Size::None, false, true},
    {"mlp.gate_proj", "ffn_gate", Size::Ff, Size::Embd, true},
    {"mlp.up_proj", "ffn_up", Size::Ff, Size::Embd, true},
    {"mlp.down_proj", "ffn_down", Size::Embd, Size::Ff, true},
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

// A checkpoint's name taken apart.
struct Parsed {
    const Mapping* mapping = nullptr;
    std::optional<uint64_t> layer;
    std::string_view kind;  // kWeight or kBias

    std::string gguf() const {
        return layer ? fmt::format("blk.{}.{}{}", *layer, mapping->gguf, kind)
                     : fmt::format("{}{}", mapping->gguf, kind);
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
    if (!parsed.mapping || (parsed.kind == kBias && !parsed.mapping->may_have_bias)) return std::nullopt;
    return parsed;
}

[[noreturn]] void refuse_unmapped(const std::string& name, Architecture architecture) {
    throw UnsupportedError(fmt::format(
        "HuggingFace tensor {} has no GGUF mapping in minfer's {} converter; supported tensors are "
        "model.embed_tokens, model.norm, lm_head, and model.layers.N.{{input_layernorm,post_attention_layernorm,"
        "self_attn.{{q,k,v,o}}_proj,{}mlp.{{gate,up,down}}_proj}} — minfer refuses to drop a weight it does not "
        "recognise",
        gguf::in_quotes(name), title(architecture),
        architecture == Architecture::Qwen3 ? "self_attn.{q,k}_norm," : ""));
}

void check_shape(const SourceTensor& tensor, const std::vector<uint64_t>& expected, const std::string& path) {
    if (tensor.shape != expected)
        throw FormatError(path, "tensor " + gguf::in_quotes(tensor.name),
                          fmt::format("shape [{}]", fmt::join(tensor.shape, ", ")),
                          fmt::format("[{}] by config.json", fmt::join(expected, ", ")));
}

void check_complete(const std::set<std::string>& names, const ModelConfig& config, const std::string& path) {
    const auto need = [&](const std::string& gguf, const std::string& hf) {
        if (!names.contains(gguf))
            throw FormatError(
                path, fmt::format("tensor '{}'", hf), "no such tensor",
                fmt::format("one, for a {} model of {} layers", title(config.architecture), config.n_layer));
    };
    for (const Mapping& m : kTop) need(fmt::format("{}{}", m.gguf, kWeight), fmt::format("{}{}", m.hf, kWeight));
    for (uint64_t layer = 0; layer < config.n_layer; ++layer)
        for (const Mapping& m : kLayer)
            if (!m.qwen3_only || config.architecture == Architecture::Qwen3)
                need(fmt::format("blk.{}.{}{}", layer, m.gguf, kWeight),
                     fmt::format("{}{}.{}{}", kLayerPrefix, layer, m.hf, kWeight));
}

void check_tied(bool has_output, const ModelConfig& config, const std::string& path) {
    if (!config.tied_output || *config.tied_output != has_output) return;
    throw FormatError(path, "tensor 'lm_head.weight'", has_output ? "one" : "no such tensor",
                      fmt::format("{}, for config.json has tie_word_embeddings {}", has_output ? "none" : "one",
                                  *config.tied_output));
}

}  // namespace

std::vector<MappedTensor> map_tensors(const std::vector<SourceTensor>& tensors, const ModelConfig& config,
                                      const std::string& checkpoint_path) {
    std::vector<MappedTensor> mapped;
    std::set<std::string> names;
    for (size_t i = 0; i < tensors.size(); ++i) {
        const SourceTensor& tensor = tensors[i];
        if (tensor.name.ends_with(".rotary_emb.inv_freq")) continue;  // a cache that old checkpoints saved
        const std::optional<Parsed> parsed = parse_name(tensor.name, config);
        if (!parsed) refuse_unmapped(tensor.name, config.architecture);
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
        check_shape(tensor, out.shape, checkpoint_path);
        if (config.architecture == Architecture::Llama) {
            if (m.gguf == "attn_q") out.permuted_heads = config.n_head;
            if (m.gguf == "attn_k") out.permuted_heads = config.n_head_kv;
        }
        names.insert(out.name);
        mapped.push_back(std::move(out));
    }
    check_complete(names, config, checkpoint_path);
    check_tied(names.contains("output.weight"), config, checkpoint_path);
    return mapped;
}

}  // namespace minfer::convert
