#include "tiny_checkpoint.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace minfer::test {
namespace {

constexpr uint64_t kEmbd = 32, kFf = 64, kLayers = 2, kHeads = 2, kHeadsKv = 1, kHeadDim = 16, kVocab = 300;

constexpr const char* kQwenSplit =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kLlamaSplit =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

size_t dtype_size(const std::string& dtype) { return dtype == "F32" || dtype == "I32" ? 4 : dtype == "I8" ? 1 : 2; }

// GPT-2's alphabet: printable bytes are themselves, the others come from U+0100 on.
std::vector<std::string> byte_alphabet() {
    std::vector<std::string> out;
    uint32_t next = 0x100;
    for (uint32_t b = 0; b < 256; ++b) {
        const bool plain = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
        const uint32_t c = plain ? b : next++;
        if (c < 0x80)
            out.emplace_back(1, char(c));
        else
            out.push_back({char(0xc0 | (c >> 6)), char(0x80 | (c & 0x3f))});
    }
    return out;
}

Json tokenizer_json(bool llama) {
    Json vocab = Json::object();
    for (const std::string& token : byte_alphabet()) vocab[token] = vocab.size();
    for (const char* token : {"in", "he", "the"}) vocab[token] = vocab.size();
    const auto added = [](int id, const char* content, bool special) {
        return Json{{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
                    {"rstrip", false}, {"normalized", false}, {"special", special}};
    };
    return {{"version", "1.0"},
            {"added_tokens",
             {added(259, "<|end|>", true), added(260, "<|looks|>", false), added(261, "<tool\u2581call>", false)}},
            {"normalizer", llama ? Json() : Json{{"type", "NFC"}}},
            {"pre_tokenizer",
             {{"type", "Sequence"},
              {"pretokenizers",
               {{{"type", "Split"},
                 {"pattern", {{"Regex", llama ? kLlamaSplit : kQwenSplit}}},
                 {"behavior", "Isolated"},
                 {"invert", false}},
                {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", false}}}}}},
            {"post_processor", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
            {"decoder", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
            {"model",
             {{"type", "BPE"},
              {"dropout", nullptr},
              {"byte_fallback", false},
              {"ignore_merges", llama},
              {"vocab", vocab},
              {"merges", {"i n", "h e", "t he"}}}}};
}

}  // namespace

std::string safetensors(const std::vector<TinyTensor>& tensors, const std::optional<std::string>& header_text) {
    Json header = Json::object();
    std::string data;
    for (const TinyTensor& t : tensors) {
        uint64_t n = 1;
        for (const uint64_t d : t.shape) n *= d;
        const size_t begin = data.size();
        data += t.bytes.empty() ? std::string(size_t(n) * dtype_size(t.dtype), '\0') : t.bytes;
        header[t.name] = {{"dtype", t.dtype}, {"shape", t.shape}, {"data_offsets", {begin, data.size()}}};
    }
    const std::string text = header_text.value_or(header.dump());
    const uint64_t length = text.size();
    std::string out(8, '\0');
    std::memcpy(out.data(), &length, 8);
    return out + text + data;
}

TinyCheckpoint::TinyCheckpoint(const std::string& architecture) {
    const bool qwen2 = architecture == "qwen2", qwen3 = architecture == "qwen3", llama = architecture == "llama";
    config = {{"architectures",
               {qwen2   ? "Qwen2ForCausalLM"
                : qwen3 ? "Qwen3ForCausalLM"
                        : "LlamaForCausalLM"}},
              {"model_type", architecture},
              {"hidden_size", kEmbd},
              {"intermediate_size", kFf},
              {"num_hidden_layers", kLayers},
              {"num_attention_heads", kHeads},
              {"num_key_value_heads", kHeadsKv},
              {"max_position_embeddings", 128},
              {"rms_norm_eps", 1e-6},
              {"rope_theta", 10000.0},
              {"hidden_act", "silu"},
              {"tie_word_embeddings", true},
              {"vocab_size", kVocab},
              {"eos_token_id", 259}};
    if (qwen3) config["head_dim"] = kHeadDim;
    generation_config = {{"temperature", 0.5}, {"top_k", 20}};
    tokenizer = tokenizer_json(llama);
    tokenizer_config = {{"chat_template", "{{ messages }}"}, {"eos_token", "<|end|>"}, {"add_bos_token", false}};

    const auto add = [&](const std::string& name, std::vector<uint64_t> shape) {
        tensors.push_back({name, "BF16", std::move(shape), ""});
    };
    add("model.embed_tokens.weight", {kVocab, kEmbd});
    add("model.norm.weight", {kEmbd});
    for (uint64_t i = 0; i < kLayers; ++i) {
        const std::string p = "model.layers." + std::to_string(i) + ".";
        add(p + "input_layernorm.weight", {kEmbd});
        add(p + "post_attention_layernorm.weight", {kEmbd});
        add(p + "self_attn.q_proj.weight", {kHeads * kHeadDim, kEmbd});
        add(p + "self_attn.k_proj.weight", {kHeadsKv * kHeadDim, kEmbd});
        add(p + "self_attn.v_proj.weight", {kHeadsKv * kHeadDim, kEmbd});
        add(p + "self_attn.o_proj.weight", {kEmbd, kHeads * kHeadDim});
        if (qwen2) {
            add(p + "self_attn.q_proj.bias", {kHeads * kHeadDim});
            add(p + "self_attn.k_proj.bias", {kHeadsKv * kHeadDim});
            add(p + "self_attn.v_proj.bias", {kHeadsKv * kHeadDim});
        }
        if (qwen3) {
            add(p + "self_attn.q_norm.weight", {kHeadDim});
            add(p + "self_attn.k_norm.weight", {kHeadDim});
        }
        add(p + "mlp.gate_proj.weight", {kFf, kEmbd});
        add(p + "mlp.up_proj.weight", {kFf, kEmbd});
        add(p + "mlp.down_proj.weight", {kEmbd, kFf});
    }
    std::filesystem::create_directory(folder());
}

TinyTensor& TinyCheckpoint::tensor(const std::string& name) {
    const auto at = std::ranges::find(tensors, name, &TinyTensor::name);
    if (at == tensors.end()) throw std::runtime_error("no tensor " + name);
    return *at;
}

void TinyCheckpoint::erase(const std::string& name) {
    if (std::erase_if(tensors, [&](const TinyTensor& t) { return t.name == name; }) == 0)
        throw std::runtime_error("no tensor " + name);
}

std::filesystem::path TinyCheckpoint::write(bool weights) const {
    write_file(folder() / "config.json", config.dump());
    write_file(folder() / "generation_config.json", generation_config.dump());
    write_file(folder() / "tokenizer.json", tokenizer.dump());
    write_file(folder() / "tokenizer_config.json", tokenizer_config.dump());
    if (weights) write_file(folder() / "model.safetensors", safetensors(tensors));
    return folder();
}

convert::ConvertOptions TinyCheckpoint::options(gguf::TensorType type) const {
    return {.source = folder(), .output = (folder_.path() / "out.gguf").string(), .type = type};
}

}  // namespace minfer::test
