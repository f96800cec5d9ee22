// What is written loads: for each checkpoint either the plan refuses it by name, or the engine takes the file.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "gguf/reader.h"
#include "model/model.h"
#include "tiny_checkpoint.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/vocabulary.h"

namespace minfer::test {
namespace {

using testing::HasSubstr;

constexpr const char* kLoads = "it loads";

// The message of the refusal, kLoads, or what the engine finds wrong with the file.
std::string outcome(const TinyCheckpoint& tiny) {
    tiny.write();
    const convert::ConvertOptions options = tiny.options();
    try {
        convert::plan_conversion(options).run({});
    } catch (const Error& e) {
        return e.what();
    }
    try {
        const gguf::Gguf file = gguf::Gguf::open(options.output);
        static_cast<void>(model::load(file));
        static_cast<void>(tokenizer::Tokenizer(tokenizer::Vocabulary::from_gguf(file)));
    } catch (const std::exception& e) {
        return std::string("written, but the engine says: ") + e.what();
    }
    return kLoads;
}

std::string layer(int number, const std::string& rest) { return "model.layers." + std::to_string(number) + "." + rest; }

void add_bias(TinyCheckpoint& tiny, const std::string& map) {
    const uint64_t n = tiny.tensor(map + ".weight").shape[0];
    tiny.tensors.push_back({map + ".bias", "BF16", {n}, ""});
}

void add_biases(TinyCheckpoint& tiny, std::initializer_list<const char*> maps) {
    for (const int number : {0, 1})
        for (const char* map : maps) add_bias(tiny, layer(number, map));
}

constexpr std::initializer_list<const char*> kAttention = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                                                           "self_attn.o_proj"};
constexpr std::initializer_list<const char*> kMlp = {"mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"};

TEST(Load, WhatIsWrittenLoads) {
    for (const char* architecture : {"qwen2", "qwen3", "llama"})
        EXPECT_EQ(outcome(TinyCheckpoint(architecture)), kLoads) << architecture;
}

TEST(Load, AQwen2HasItsBiasesAndNoOthers) {
    for (const char* name : {"q_proj.bias", "k_proj.bias", "v_proj.bias"}) {
        TinyCheckpoint tiny;
        tiny.erase(layer(1, "self_attn.") + name);
        EXPECT_THAT(outcome(tiny), HasSubstr(layer(1, "self_attn.") + name +
                                             "': found no such tensor, expected one, for a Qwen2 model of 2 layers"));
    }
    for (const char* map : {"self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}) {
        TinyCheckpoint tiny;
        add_biases(tiny, {map});
        EXPECT_THAT(outcome(tiny), HasSubstr("HuggingFace tensor '" + layer(0, map) +
                                             ".bias' has no GGUF mapping in minfer's Qwen2 converter"));
    }
}

TEST(Load, AQwen3HasNoBiases) {
    for (const char* map : {"self_attn.q_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.up_proj"}) {
        TinyCheckpoint tiny("qwen3");
        add_biases(tiny, {map});
        EXPECT_THAT(outcome(tiny), HasSubstr(layer(0, map) + ".bias' has no GGUF mapping in minfer's Qwen3 converter"));
    }
    TinyCheckpoint tiny("qwen3");
    add_biases(tiny, kAttention);
    tiny.config["attention_bias"] = true;
    EXPECT_THAT(outcome(tiny), HasSubstr("key 'attention_bias' is true; a GGUF file of this architecture has no place "
                                         "for the bias of o_proj"));
}

TEST(Load, TheBiasesOfALlamaAreThoseThatItsConfigurationHas) {
    for (const auto& [key, maps] : {std::pair("attention_bias", kAttention), std::pair("mlp_bias", kMlp)}) {
        const std::string first = layer(0, *maps.begin()) + ".bias", last = layer(1, *(maps.end() - 1)) + ".bias";
        TinyCheckpoint tiny("llama");
        tiny.config[key] = true;
        EXPECT_THAT(
            outcome(tiny),
            HasSubstr("'" + first + "': found no such tensor, expected one, for config.json has " + key + " true"));
        add_biases(tiny, maps);
        EXPECT_EQ(outcome(tiny), kLoads) << key;
        tiny.config.erase(key);  // as the tensors say
        EXPECT_EQ(outcome(tiny), kLoads) << key;
        tiny.config[key] = false;
        EXPECT_THAT(
            outcome(tiny),
            HasSubstr(fmt::format(
                "model.safetensors: tensor '{}': found one, expected none, for config.json has {} false", first, key)));
        tiny.erase(last);
        tiny.config.erase(key);
        EXPECT_THAT(outcome(tiny),
                    HasSubstr(fmt::format("'{}': found no such tensor, expected one, for there is '{}'", last, first)));
        tiny.config[key] = true;
        EXPECT_THAT(outcome(tiny), HasSubstr("'" + last + "': found no such tensor, expected one, for config.json"));
    }
}

TEST(Load, SizesAreThoseThatTheEngineTakes) {
    const auto with = [](const char* architecture, const std::function<void(TinyCheckpoint&)>& change) {
        TinyCheckpoint tiny(architecture);
        change(tiny);
        return outcome(tiny);
    };
    EXPECT_THAT(with("qwen2", [](TinyCheckpoint& t) { t.config["head_dim"] = 32; }),
                HasSubstr("key 'head_dim' is the number 32; the 2 heads of this architecture's GGUF file share "
                          "hidden_size, 32"));
    EXPECT_THAT(with("qwen3", [](TinyCheckpoint& t) { t.config["max_position_embeddings"] = uint64_t(1) << 29; }),
                HasSubstr("key 'max_position_embeddings': found the number 536870912"));
    const auto scaled = [](TinyCheckpoint& t, double factor) {
        t.config["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", factor}};
    };
    EXPECT_THAT(with("llama", [&](TinyCheckpoint& t) { scaled(t, 0.5); }),
                HasSubstr("key 'rope_scaling.factor': found the number 0.5, expected 1 or more for yarn"));
    EXPECT_EQ(with("llama", [&](TinyCheckpoint& t) { scaled(t, 1); }), kLoads);
    EXPECT_EQ(with("qwen2", [](TinyCheckpoint& t) { t.config["num_hidden_layers"] = 2; }), kLoads);
}

TEST(Load, TokensThatAreAddedAreThere) {
    TinyCheckpoint bos("llama");
    bos.tokenizer_config.erase("add_bos_token");
    EXPECT_THAT(outcome(bos), HasSubstr("tokenizer_config.json: key 'bos_token': found none, expected a token, for one "
                                        "is added to each text; or add_bos_token false"));
    bos.tokenizer_config["bos_token"] = "<|looks|>";
    EXPECT_EQ(outcome(bos), kLoads);
    TinyCheckpoint eos;
    eos.tokenizer_config = {{"chat_template", "t"}, {"add_eos_token", true}};
    eos.config.erase("eos_token_id");
    EXPECT_THAT(outcome(eos), HasSubstr("key 'eos_token': found none"));
    TinyCheckpoint sep;
    sep.tokenizer_config["add_sep_token"] = true;
    EXPECT_THAT(outcome(sep), HasSubstr("a separator between two texts is added"));
}

TEST(Load, TokensThatDisagreeAreRefused) {
    TinyCheckpoint again, steering, none, unknown;
    again.tokenizer["added_tokens"][1]["content"] = "the";
    EXPECT_THAT(outcome(again), HasSubstr("expected a spelling of its own"));
    steering.tokenizer["added_tokens"].push_back({{"id", 257}, {"content", "he"}, {"special", true}});
    EXPECT_THAT(outcome(steering), HasSubstr("'he', which added_tokens makes special"));
    none.tokenizer["model"]["merges"] = Json::array();
    EXPECT_THAT(outcome(none), HasSubstr("model.merges: found none"));
    unknown.tokenizer["model"]["merges"].push_back("the in");
    EXPECT_THAT(outcome(unknown), HasSubstr("model.merges: number 3: found 'thein'"));
}

}  // namespace
}  // namespace minfer::test
