#include "model/tiny_file.h"

#include <fmt/format.h>

#include <span>
#include <vector>

#include "gguf/writer.h"
#include "quant/encode.h"

namespace minfer::test {
namespace {

using gguf::Value;

// -1/2^k to 1/2^k for a matrix, where about 4^k values are in a row; near 1 for a norm.
std::vector<float> values(const std::string& name, const TinyTensor& t) {
    const uint64_t rows = t.n_out ? t.n_out : 1;
    std::vector<float> out(rows * t.n_in);
    uint32_t state = 2166136261u;
    for (const char c : name) state = (state ^ uint8_t(c)) * 16777619u;
    float scale = 0x1p-32f;
    for (uint64_t n = t.n_in; n > 4; n /= 4) scale /= 2;
    for (float& x : out) {
        state = state * 1664525u + 1013904223u;
        x = float(int32_t(state | 1)) * scale;
        if (name.ends_with("norm.weight")) x += 1;
    }
    return out;
}

}  // namespace

void TinyFile::set(std::string_view key, Value value) { metadata.insert_or_assign(std::string(key), std::move(value)); }

void TinyFile::write(const std::filesystem::path& path) const {
    gguf::Writer out(path.string());
    for (const auto& [key, value] : metadata) out.set(key, value);
    for (const auto& [name, t] : tensors)
        out.add_tensor({.name = name, .ne = {t.n_in, t.n_out ? t.n_out : 1, 1, 1}, .type = t.type});
    out.begin();
    for (const auto& [name, t] : tensors) {
        out.begin_tensor(name);
        const int64_t rows = t.n_out ? int64_t(t.n_out) : 1;
        std::vector<std::byte> bytes(size_t(rows) * gguf::row_bytes(t.type, t.n_in));
        if (quant::can_encode(t.type)) quant::encode_rows(t.type, values(name, t), rows, int64_t(t.n_in), bytes, {});
        out.write(bytes);
    }
    out.commit();
}

TinyFile tiny_file(const std::string& a, const TinyShape& shape) {
    TinyFile f;
    const uint32_t head = a == "qwen3" ? 2 * shape.head_dim : shape.head_dim;
    const uint64_t n_embd = shape.n_embd(), n_ff = shape.n_ff;
    f.set("general.architecture", Value::string(a));
    f.set(a + ".context_length", Value::scalar(uint32_t(128)));
    f.set(a + ".embedding_length", Value::scalar(shape.n_embd()));
    f.set(a + ".block_count", Value::scalar(shape.n_layer));
    f.set(a + ".feed_forward_length", Value::scalar(shape.n_ff));
    f.set(a + ".attention.head_count", Value::scalar(shape.n_head));
    f.set(a + ".attention.head_count_kv", Value::scalar(shape.n_head_kv));
    f.set(a + ".attention.layer_norm_rms_epsilon", Value::scalar(1e-5f));
    f.set(a + ".rope.freq_base", Value::scalar(10000.0f));
    if (a == "qwen3") {
        f.set(a + ".attention.key_length", Value::scalar(head));
        f.set(a + ".attention.value_length", Value::scalar(head));
    }
    f.tensors["token_embd.weight"] = {n_embd, shape.n_vocab, shape.type};
    f.tensors["output_norm.weight"] = {n_embd};
    const uint64_t q = uint64_t(shape.n_head) * head, kv = uint64_t(shape.n_head_kv) * head;
    for (uint32_t i = 0; i < shape.n_layer; ++i) {
        const auto layer = [&](std::string_view name) -> TinyTensor& {
            return f.tensors[fmt::format("blk.{}.{}", i, name)];
        };
        layer("attn_norm.weight") = {n_embd};
        layer("attn_q.weight") = {n_embd, q, shape.type};
        layer("attn_k.weight") = {n_embd, kv, shape.type};
        layer("attn_v.weight") = {n_embd, kv, shape.type};
        layer("attn_output.weight") = {q, n_embd, shape.type};
        layer("ffn_norm.weight") = {n_embd};
        layer("ffn_gate.weight") = {n_embd, n_ff, shape.type};
        layer("ffn_up.weight") = {n_embd, n_ff, shape.type};
        layer("ffn_down.weight") = {n_ff, n_embd, shape.type};
        if (a == "qwen2") {
            layer("attn_q.bias") = {q};
            layer("attn_k.bias") = {kv};
            layer("attn_v.bias") = {kv};
        }
        if (a == "qwen3") {
            layer("attn_q_norm.weight") = {head};
            layer("attn_k_norm.weight") = {head};
        }
    }
    return f;
}

void add_byte_tokenizer(TinyFile& file) {
    // GPT-2's alphabet: a printable byte stands for itself, the others for the characters from U+0100 on, in order.
    std::vector<std::string> tokens;
    std::vector<int32_t> types;
    int next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
        const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
        const int c = printable ? byte : next++;
        tokens.push_back(c < 0x80 ? std::string(1, char(c))
                                  : std::string{char(0xc0 | c >> 6), char(0x80 | (c & 0x3f))});
        types.push_back(1);
    }
    for (const char* special : {"<|im_end|>", "<|endoftext|>"}) {
        tokens.emplace_back(special);
        types.push_back(3);
    }
    file.set("tokenizer.ggml.model", Value::string("gpt2"));
    file.set("tokenizer.ggml.pre", Value::string("gpt-2"));
    file.set("tokenizer.ggml.tokens", Value::strings(std::span<const std::string>(tokens)));
    file.set("tokenizer.ggml.token_type", Value::array(std::span<const int32_t>(types)));
    file.set("tokenizer.ggml.merges", Value::strings(std::span<const std::string>()));
    file.set("tokenizer.ggml.eos_token_id", Value::scalar(uint32_t(256)));
    file.set("tokenizer.ggml.add_bos_token", Value::scalar(false));
}

}  // namespace minfer::test
