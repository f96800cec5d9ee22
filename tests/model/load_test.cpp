// What a file must say and hold for its model to load, and what is said where it does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <set>

#include "base/error.h"
#include "gguf/reader.h"
#include "model/model.h"
#include "model/tiny_file.h"
#include "support/support.h"

namespace minfer::model {
namespace {

using gguf::Value;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class Load : public testing::Test {
  protected:
    // The model of a file; the file lives as long as the test.
    std::unique_ptr<Model> load(const test::TinyFile& file) {
        file.write(folder_ / "tiny.gguf");
        file_ = gguf::Gguf::open((folder_ / "tiny.gguf").string());
        return model::load(*file_);
    }

    template <typename E>
    void refuses(const test::TinyFile& file, const std::string& message) {
        EXPECT_THAT([&] { load(file); }, ThrowsMessage<E>(HasSubstr(message)));
    }

  private:
    test::TemporaryFolder folder_;
    std::optional<gguf::Gguf> file_;
};

Value u32(uint32_t x) { return Value::scalar(x); }

TEST_F(Load, ReadsTheNumbersOfEachArchitecture) {
    for (const std::string a : {"llama", "qwen2", "qwen3"}) {
        const auto model = load(test::tiny_file(a));
        const Hyperparameters& h = model->hyperparameters();
        EXPECT_EQ(h.architecture, a);
        EXPECT_EQ(h.n_vocab, 40u);
        EXPECT_EQ(h.n_ctx_train, 128u);
        EXPECT_EQ(h.n_embd, 32u);
        EXPECT_EQ(h.n_layer, 2u);
        EXPECT_EQ(h.n_head, 4u);
        EXPECT_EQ(h.n_head_kv, 2u);
        EXPECT_EQ(h.head_dim, a == "qwen3" ? 16u : 8u);
        EXPECT_EQ(h.n_ff, 48u);
        EXPECT_EQ(h.rms_eps, 1e-5f);
        EXPECT_EQ(h.rope.n_rot, h.head_dim);
        EXPECT_EQ(h.rope_layout, a == "llama" ? graph::RopeLayout::Interleaved : graph::RopeLayout::Half);
        EXPECT_EQ(model->weights().size(), a == "llama" ? 20u : a == "qwen2" ? 26u : 24u);
        const kv::Layout layout = model->kv_layout(100, kv::CellType::F32);
        EXPECT_EQ(layout.total_bytes(), 2 * 2 * 100 * 2 * h.head_dim * sizeof(float));
    }
}

TEST_F(Load, HeadsForKeysDefaultToHeads) {
    test::TinyFile f = test::tiny_file("llama");
    f.metadata.erase("llama.attention.head_count_kv");
    refuses<FormatError>(f, "tensor 'blk.0.attn_k.weight': found shape [16][32], expected [32][32]");
    for (const char* name :
         {"blk.0.attn_k.weight", "blk.0.attn_v.weight", "blk.1.attn_k.weight", "blk.1.attn_v.weight"})
        f.tensors[name] = {32, 32};
    EXPECT_EQ(load(f)->hyperparameters().n_head_kv, 4u);
}

TEST_F(Load, NamesAnotherArchitectureAndTheSupportedOnes) {
    test::TinyFile f = test::tiny_file("llama");
    f.set("general.architecture", Value::string("gemma3"));
    EXPECT_THAT([&] { load(f); },
                ThrowsMessage<UnsupportedError>("Unsupported architecture: 'gemma3'; minfer runs llama, qwen2, qwen3"));
}

// No architecture's keys stand in for another's.
TEST_F(Load, LlamaKeysAreNoFallback) {
    test::TinyFile f = test::tiny_file("qwen2");
    f.set("llama.context_length", u32(128));
    f.metadata.erase("qwen2.context_length");
    refuses<FormatError>(f, "key qwen2.context_length: found no such key");
}

TEST_F(Load, EachNeededKey) {
    for (const char* key : {"context_length", "embedding_length", "block_count", "feed_forward_length",
                            "attention.head_count", "attention.layer_norm_rms_epsilon"}) {
        test::TinyFile f = test::tiny_file("qwen3");
        f.metadata.erase(std::string("qwen3.") + key);
        refuses<FormatError>(f, std::string("key qwen3.") + key + ": found no such key");
    }
}

TEST_F(Load, NumbersOutOfRange) {
    for (const char* key :
         {"llama.context_length", "llama.embedding_length", "llama.block_count", "llama.feed_forward_length",
          "llama.attention.head_count", "llama.attention.head_count_kv"}) {
        for (const Value& bad :
             {Value::scalar(uint32_t(0)), Value::scalar(int32_t(-3)), Value::scalar(uint32_t(1) << 31),
              Value::scalar(~uint64_t(0)), Value::string("7"), Value::scalar(1.0f)}) {
            test::TinyFile f = test::tiny_file("llama");
            f.set(key, bad);
            EXPECT_THAT([&] { load(f); }, ThrowsMessage<FormatError>(HasSubstr(key))) << bad.describe();
        }
    }
    for (const float bad : {0.0f, -1.0f, INFINITY, NAN}) {
        test::TinyFile f = test::tiny_file("llama");
        f.set("llama.rope.freq_base", Value::scalar(bad));
        refuses<FormatError>(f, "llama.rope.freq_base");
        f = test::tiny_file("llama");
        f.set("llama.attention.layer_norm_rms_epsilon", Value::scalar(bad));
        refuses<FormatError>(f, "llama.attention.layer_norm_rms_epsilon");
    }
    test::TinyFile f = test::tiny_file("llama");
    f.set("llama.block_count", u32(1000));
    refuses<FormatError>(f, "key llama.block_count: found 1000, expected at most the 20 tensors of the file");
}

TEST_F(Load, NumbersThatDisagree) {
    test::TinyFile f = test::tiny_file("llama");
    f.set("llama.attention.head_count_kv", u32(3));
    refuses<FormatError>(
        f, "key llama.attention.head_count_kv: found 3, expected a divisor of llama.attention.head_count = 4");
    f = test::tiny_file("llama");
    f.set("llama.attention.head_count", u32(5));
    f.set("llama.attention.head_count_kv", u32(5));
    refuses<FormatError>(f,
                         "key llama.attention.head_count: found 5, expected a divisor of llama.embedding_length = 32");
    f = test::tiny_file("llama");
    f.set("llama.attention.head_count", u32(32));
    refuses<FormatError>(f, "heads of 1 numbers, expected an even number");
    f = test::tiny_file("llama");
    f.set("llama.vocab_size", u32(41));
    refuses<FormatError>(f, "key llama.vocab_size: found 41, expected 40, the rows of tensor 'token_embd.weight'");
    f = test::tiny_file("llama");
    f.set("tokenizer.ggml.tokens", Value::strings(std::vector<std::string>(39, "x")));
    refuses<FormatError>(f, "key tokenizer.ggml.tokens: found 39 tokens, expected 40");
    f = test::tiny_file("qwen3");
    f.set("qwen3.attention.value_length", u32(8));
    refuses<UnsupportedError>(f, "values of 8 numbers a head and keys of 16 (qwen3.attention.key_length)");
    f = test::tiny_file("qwen2");
    f.set("qwen2.attention.key_length", u32(16));
    f.set("qwen2.attention.value_length", u32(16));
    refuses<FormatError>(f, "found 4 heads of 16 numbers, expected qwen2.embedding_length = 32 numbers together");
    f = test::tiny_file("qwen3");
    f.set("qwen3.rope.dimension_count", u32(8));
    refuses<UnsupportedError>(f, "key qwen3.rope.dimension_count: found 8, but a head has 16 numbers");
}

// Each tensor of each architecture: missing, longer, or a vector of a type that vectors do not have.
TEST_F(Load, EachTensorIsCheckedAndNeeded) {
    for (const std::string a : {"llama", "qwen2", "qwen3"}) {
        const test::TinyFile whole = test::tiny_file(a);
        for (const auto& [name, tensor] : whole.tensors) {
            test::TinyFile f = whole;
            f.tensors.erase(name);
            EXPECT_THAT([&] { load(f); }, ThrowsMessage<FormatError>(HasSubstr(name))) << a;
            f = whole;
            f.tensors[name].n_in += 32;
            EXPECT_THAT([&] { load(f); }, ThrowsMessage<FormatError>(AllOf(HasSubstr(name), HasSubstr("expected ["))))
                << a;
            if (tensor.n_out != 0) continue;
            f = whole;
            f.tensors[name].type = gguf::TensorType::F16;
            EXPECT_THAT([&] { load(f); },
                        ThrowsMessage<UnsupportedError>(AllOf(HasSubstr(name), HasSubstr("f16 of a vector"))));
        }
    }
}

TEST_F(Load, AWeightIsNeverDropped) {
    test::TinyFile f = test::tiny_file("qwen2");
    f.tensors["blk.1.attn_output.bias"] = {32};
    refuses<FormatError>(f, "tensor 'blk.1.attn_output.bias': found a weight that the architecture does not have");
    f = test::tiny_file("llama");
    f.tensors["blk.2.attn_norm.weight"] = {32};
    refuses<FormatError>(f, "tensor 'blk.2.attn_norm.weight'");
    f = test::tiny_file("llama");
    f.tensors["blk.0.attn_q_norm.weight"] = {8};
    refuses<FormatError>(f, "tensor 'blk.0.attn_q_norm.weight'");
}

TEST_F(Load, OptionalTensors) {
    test::TinyFile f = test::tiny_file("llama");
    for (const char* name : {"attn_q.bias", "attn_output.bias", "ffn_down.bias"})
        f.tensors[std::string("blk.0.") + name] = {32};
    f.tensors["blk.1.ffn_up.bias"] = {48};
    f.tensors["output.weight"] = {32, 40};
    f.tensors["rope_freqs.weight"] = {4};
    EXPECT_EQ(load(f)->weights().size(), 26u);
    f = test::tiny_file("qwen3");
    f.tensors["blk.0.attn_k.bias"] = {32};
    EXPECT_EQ(load(f)->weights().size(), 25u);
}

TEST_F(Load, EveryWeightTypeAndNoOther) {
    const std::set<std::string_view> supported = {"f32",  "f16",  "bf16", "q4_0", "q4_1", "q5_0",   "q5_1",  "q8_0",
                                                  "q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "iq4_nl", "iq4_xs"};
    size_t n_loaded = 0;
    for (const gguf::TensorType type : gguf::all_tensor_types()) {
        test::TinyFile f = test::tiny_file("llama");
        f.set("llama.embedding_length", u32(256));  // rows that every type's blocks divide
        f.set("llama.attention.head_count", u32(4));
        for (auto& [name, t] : f.tensors) {
            if (t.n_in == 32) t.n_in = 256;
            if (t.n_out == 32) t.n_out = 256;
            if (t.n_out == 16) t.n_out = 128;
        }
        f.tensors["blk.1.attn_q.weight"].type = type;
        const std::string name(gguf::type_name(type));
        if (supported.contains(name)) {
            EXPECT_NO_THROW(load(f)) << name;
            ++n_loaded;
        } else {
            refuses<UnsupportedError>(
                f, "tensor 'blk.1.attn_q.weight': unsupported weight type " + name + "; there are f32");
        }
    }
    EXPECT_EQ(n_loaded, supported.size());
}

TEST_F(Load, RefusesKeysThatChangeTheArithmetic) {
    test::TinyFile f = test::tiny_file("llama");
    f.set("llama.expert_count", u32(0));
    EXPECT_NO_THROW(load(f));
    f.set("llama.expert_count", u32(8));
    refuses<UnsupportedError>(f, "key llama.expert_count: found u32 8, which minfer does not compute");
    for (const char* key : {"llama.attention.scale", "llama.logit_scale", "llama.residual_scale",
                            "llama.embedding_scale", "llama.final_logit_softcapping"}) {
        f = test::tiny_file("llama");
        f.set(key, Value::scalar(0.5f));
        refuses<UnsupportedError>(f, std::string("key ") + key);
    }
}

}  // namespace
}  // namespace minfer::model
