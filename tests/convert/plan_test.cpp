// What a checkpoint says and minfer refuses, with the texts that users see; and what the plan makes of one that
// converts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/error.h"
#include "convert/model_config.h"
#include "tiny_checkpoint.h"

namespace minfer::test {
namespace {

using convert::plan_conversion;
using testing::HasSubstr;

template <typename E = UnsupportedError>
std::string refusal(const TinyCheckpoint& tiny) {
    tiny.write();
    return message_of<E>([&] { plan_conversion(tiny.options()); });
}

const gguf::Value* value(const convert::Conversion& conversion, const std::string& key) {
    for (const gguf::KeyValue& entry : conversion.writer().metadata())
        if (entry.key == key) return &entry.value;
    return nullptr;
}

template <typename T>
std::optional<T> get(const convert::Conversion& conversion, const std::string& key) {
    const gguf::Value* found = value(conversion, key);
    return found ? found->as<T>() : std::nullopt;
}

TEST(Plan, TheTinyCheckpointsConvert) {
    for (const char* architecture : {"qwen2", "qwen3", "llama"})
        EXPECT_EQ(refusal(TinyCheckpoint(architecture)), "no exception");
}

TEST(Plan, RefusesOtherArchitecturesWithTodaysList) {
    TinyCheckpoint tiny;
    tiny.config["model_type"] = "gemma3";
    tiny.config["architectures"] = {"Gemma3ForCausalLM"};
    const std::string list =
        "minfer's converter supports 'Qwen2ForCausalLM' (model_type \"qwen2\"), 'Qwen3ForCausalLM' (model_type "
        "\"qwen3\"), "
        "'LlamaForCausalLM' (model_type \"llama\"), 'MistralForCausalLM' (model_type \"mistral\") only";
    EXPECT_EQ(refusal(tiny),
              "unsupported architecture (model_type = \"gemma3\", architectures = [\"Gemma3ForCausalLM\"]); " + list);
    tiny.config["architectures"] = {"Qwen2ForCausalLM"};
    EXPECT_THAT(refusal(tiny), HasSubstr("model_type = \"gemma3\", architectures = [\"Qwen2ForCausalLM\"]"));
    tiny.config.erase("model_type");
    tiny.config["architectures"] = {"Qwen2ForCausalLM", "Other"};
    EXPECT_THAT(refusal(tiny), HasSubstr("model_type = \"\", architectures = [\"Qwen2ForCausalLM\", \"Other\"]"));
}

TEST(Plan, NeverDropsATensor) {
    TinyCheckpoint qwen2;
    qwen2.tensors.push_back({"model.layers.0.mlp.gate_up_proj.weight", "BF16", {4}, ""});
    EXPECT_EQ(
        refusal(qwen2),
        "HuggingFace tensor 'model.layers.0.mlp.gate_up_proj.weight' has no GGUF mapping in minfer's Qwen2 converter; "
        "supported tensors are model.embed_tokens, model.norm, lm_head, and model.layers.N.{input_layernorm,"
        "post_attention_layernorm,self_attn.{q,k,v,o}_proj,mlp.{gate,up,down}_proj} — minfer refuses to drop a weight "
        "it does not recognise");
    for (const char* name : {"model.layers.2.input_layernorm.weight", "model.layers.01.input_layernorm.weight",
                             "model.layers.x.input_layernorm.weight", "model.layers.0", "model.norm.bias", "model.norm",
                             "visual.blocks.0.weight", "model.layers.0.self_attn.q_norm.weight"}) {
        TinyCheckpoint tiny;
        tiny.tensors.push_back({name, "BF16", {16}, ""});
        EXPECT_THAT(refusal(tiny), HasSubstr(std::string("tensor '") + name + "' has no GGUF mapping")) << name;
    }
    TinyCheckpoint cut;
    cut.config["num_hidden_layers"] = 1;
    EXPECT_THAT(refusal(cut), testing::EndsWith("it does not recognise; config.json has num_hidden_layers 1"));
    TinyCheckpoint qwen3("qwen3");
    qwen3.tensors.push_back({"extra", "BF16", {4}, ""});
    EXPECT_THAT(refusal(qwen3), HasSubstr("Qwen3 converter"));
    EXPECT_THAT(refusal(qwen3), HasSubstr("self_attn.{q,k,v,o}_proj,self_attn.{q,k}_norm,mlp.{gate,up,down}_proj}"));
}

TEST(Plan, LeavesOutRotaryBuffersAlone) {
    TinyCheckpoint tiny("llama");
    const size_t n = tiny.tensors.size();
    tiny.tensors.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", "F32", {8}, ""});
    tiny.tensors.push_back({"model.rotary_emb.inv_freq", "I32", {8}, ""});
    tiny.write();
    {
        const convert::Conversion c = plan_conversion(tiny.options());
        EXPECT_EQ(c.tensors().size(), n);
        EXPECT_EQ(c.notes(),
                  std::vector<std::string>{"left out 2 rotary_emb.inv_freq buffers, which config.json gives"});
    }
    for (const char* name : {"evil.rotary_emb.inv_freq", "model.layers.2.self_attn.rotary_emb.inv_freq",
                             "model.layers.0.rotary_emb.inv_freq", "model.layers.0.self_attn.x.rotary_emb.inv_freq"}) {
        TinyCheckpoint other("llama");
        other.tensors.push_back({name, "F32", {8}, ""});
        EXPECT_THAT(refusal(other), HasSubstr(std::string("tensor '") + name + "' has no GGUF mapping"));
    }
}

TEST(Plan, RefusesOtherTypesOfValues) {
    TinyCheckpoint tiny;
    tiny.tensor("model.norm.weight").dtype = "I8";
    EXPECT_EQ(refusal(tiny),
              "tensor 'model.norm.weight' has safetensors dtype 'I8'; minfer converts bf16, f16 and f32 only");
    tiny.tensor("model.norm.weight").dtype = "F8_E9";
    EXPECT_THAT(refusal(tiny), HasSubstr("safetensors dtype 'F8_E9'"));
    EXPECT_EQ(message_of<UnsupportedError>([] { convert::parse_outtype("q4_0"); }),
              "unknown --outtype \"q4_0\"; supported: f16, bf16, f32, q8_0");
    for (const char* name : {"f16", "bf16", "f32", "q8_0"})
        EXPECT_EQ(gguf::type_name(convert::parse_outtype(name)), name);
}

TEST(Plan, HoldsShapesAgainstTheConfiguration) {
    TinyCheckpoint tiny;
    tiny.tensor("model.layers.1.self_attn.k_proj.weight").shape = {32, 16};
    EXPECT_THAT(refusal<FormatError>(tiny),
                HasSubstr("model.safetensors: tensor 'model.layers.1.self_attn.k_proj.weight': found shape [32, 16], "
                          "expected [16, 32] by config.json"));
    TinyCheckpoint flat;
    flat.tensor("model.norm.weight").shape = {32, 1};
    EXPECT_THAT(refusal<FormatError>(flat), HasSubstr("found shape [32, 1], expected [32]"));
    TinyCheckpoint missing;
    missing.erase("model.layers.1.mlp.up_proj.weight");
    EXPECT_THAT(refusal<FormatError>(missing),
                HasSubstr("tensor 'model.layers.1.mlp.up_proj.weight': found no such tensor, "
                          "expected one, for a Qwen2 model of 2 layers"));
    TinyCheckpoint no_norm("qwen3");
    no_norm.erase("model.layers.0.self_attn.q_norm.weight");
    EXPECT_THAT(refusal<FormatError>(no_norm), HasSubstr("q_norm.weight': found no such tensor"));
}

TEST(Plan, TiedOutputIsWhatFlagAndTensorsAgreeOn) {
    TinyCheckpoint tiny;
    tiny.config["tie_word_embeddings"] = false;
    EXPECT_THAT(refusal<FormatError>(tiny),
                HasSubstr("tensor 'lm_head.weight': found no such tensor, expected one, for "
                          "config.json has tie_word_embeddings false"));
    tiny.config.erase("tie_word_embeddings");
    EXPECT_EQ(refusal(tiny), "no exception");
    tiny.tensors.push_back({"lm_head.weight", "BF16", {300, 32}, ""});
    EXPECT_EQ(refusal(tiny), "no exception");
    tiny.config["tie_word_embeddings"] = true;
    EXPECT_THAT(refusal<FormatError>(tiny), HasSubstr("tensor 'lm_head.weight': found one, expected none"));
}

TEST(Plan, RefusesWhatGgufCannotSay) {
    const auto with = [](const char* architecture, const std::string& key, Json set) {
        TinyCheckpoint tiny(architecture);
        tiny.config[key] = std::move(set);
        return refusal(tiny);
    };
    EXPECT_THAT(with("qwen2", "hidden_act", "gelu"), HasSubstr("key 'hidden_act' is the string 'gelu'"));
    EXPECT_THAT(with("qwen2", "quantization_config", {{"quant_method", "gptq"}}), HasSubstr("quantized already"));
    EXPECT_THAT(with("qwen2", "use_sliding_window", true), HasSubstr("key 'use_sliding_window' is true"));
    EXPECT_THAT(with("qwen2", "layer_types", {"full_attention", "sliding_attention"}),
                HasSubstr("'sliding_attention'"));
    EXPECT_THAT(with("llama", "num_local_experts", 8), HasSubstr("mixtures of experts"));
    EXPECT_THAT(with("llama", "draft_vocab_size", 8), HasSubstr("draft heads"));
    EXPECT_THAT(with("llama", "partial_rotary_factor", 0.5), HasSubstr("whole heads only"));
    EXPECT_THAT(with("qwen3", "is_causal", false), HasSubstr("causal attention only"));
    EXPECT_THAT(with("qwen3", "_name_or_path", "Qwen/Qwen3-Reranker-0.6B"), HasSubstr("reranker"));
    EXPECT_EQ(with("qwen2", "sliding_window", 4096), "no exception");  // use_sliding_window is not set
    TinyCheckpoint mistral("llama");
    mistral.config["model_type"] = "mistral";
    mistral.config["architectures"] = {"MistralForCausalLM"};
    EXPECT_EQ(refusal(mistral), "no exception");
    mistral.config["sliding_window"] = 4096;
    EXPECT_THAT(refusal(mistral), HasSubstr("key 'sliding_window' is the number 4096"));
}

TEST(Plan, NamesTheKeyThatIsOff) {
    const auto with = [](const std::string& key, const Json& set) {
        TinyCheckpoint tiny;
        if (set.is_null())
            tiny.config.erase(key);
        else
            tiny.config[key] = set;
        return refusal<FormatError>(tiny);
    };
    for (const char* key : {"hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                            "vocab_size", "max_position_embeddings", "rms_norm_eps"})
        EXPECT_THAT(with(key, Json()), HasSubstr(std::string("key '") + key + "': found no such key")) << key;
    EXPECT_THAT(with("hidden_size", "32"), HasSubstr("key 'hidden_size': found the string '32'"));
    EXPECT_THAT(with("hidden_size", -1), HasSubstr("key 'hidden_size': found the number -1"));
    EXPECT_THAT(with("num_hidden_layers", 1e9), HasSubstr("key 'num_hidden_layers'"));
    EXPECT_THAT(with("num_key_value_heads", 3), HasSubstr("expected a divisor of num_attention_heads, 2"));
    EXPECT_THAT(with("head_dim", 15), HasSubstr("expected an even number"));
    EXPECT_THAT(with("num_attention_heads", 3), HasSubstr("expected a multiple of num_attention_heads, 3"));
    EXPECT_THAT(with("rms_norm_eps", 0), HasSubstr("expected a positive number"));
    EXPECT_THAT(with("rope_theta", 1e300), HasSubstr("expected a positive number that float32 holds"));
    EXPECT_THAT(with("architectures", "Qwen2ForCausalLM"), HasSubstr("expected a list of strings"));
    TinyCheckpoint tiny;
    tiny.write();
    write_file(tiny.folder() / "config.json", R"({"model_type":"qwen2","model_type":"llama"})");
    EXPECT_THAT(message_of<FormatError>([&] { plan_conversion(tiny.options()); }),
                HasSubstr("key 'model_type': found it twice in one object"));
    write_file(tiny.folder() / "config.json", R"({"model_type":"qwen2","rms_norm_eps":1e999})");
    EXPECT_THAT(message_of<FormatError>([&] { plan_conversion(tiny.options()); }),
                HasSubstr("config.json: key 'rms_norm_eps': found a number past the largest of 64 bits"));
    write_file(tiny.folder() / "config.json", "{]");
    EXPECT_THAT(message_of<FormatError>([&] { plan_conversion(tiny.options()); }), HasSubstr("text that is not JSON"));
    std::filesystem::remove(tiny.folder() / "config.json");
    EXPECT_THAT(message_of<IoError>([&] { plan_conversion(tiny.options()); }), HasSubstr("config.json"));
}

TEST(Plan, RopeScalingIsWrittenOrRefused) {
    TinyCheckpoint tiny;
    const auto plan = [&](Json scaling) {
        tiny.config["rope_scaling"] = std::move(scaling);
        tiny.write();
        return plan_conversion(tiny.options());
    };
    {
        const convert::Conversion c = plan({{"type", "linear"}, {"factor", 2.5}});
        EXPECT_EQ(get<std::string>(c, "qwen2.rope.scaling.type"), "linear");
        EXPECT_EQ(get<float>(c, "qwen2.rope.scaling.factor"), 2.5f);
    }
    {
        const convert::Conversion c = plan({{"rope_type", "yarn"},
                                            {"factor", 4},
                                            {"attention_factor", 1.25},
                                            {"beta_fast", 30},
                                            {"beta_slow", 2},
                                            {"extrapolation_factor", 0.5}});
        EXPECT_EQ(get<std::string>(c, "qwen2.rope.scaling.type"), "yarn");
        EXPECT_EQ(get<uint32_t>(c, "qwen2.rope.scaling.original_context_length"), 128u);  // max_position_embeddings
        EXPECT_EQ(get<float>(c, "qwen2.rope.scaling.yarn_attn_factor"), 1.25f);
        EXPECT_EQ(get<float>(c, "qwen2.rope.scaling.yarn_beta_fast"), 30.0f);
        EXPECT_EQ(get<float>(c, "qwen2.rope.scaling.yarn_beta_slow"), 2.0f);
        EXPECT_EQ(get<float>(c, "qwen2.rope.scaling.yarn_ext_factor"), 0.5f);
    }
    {  // as newer checkpoints have it
        tiny.config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 5000.0}};
        const convert::Conversion c = plan(nullptr);
        EXPECT_EQ(get<float>(c, "qwen2.rope.freq_base"), 5000.0f);
        EXPECT_EQ(value(c, "qwen2.rope.scaling.type"), nullptr);
        tiny.config.erase("rope_parameters");
    }
    const auto refused = [&](Json scaling) { return message_of<UnsupportedError>([&] { plan(std::move(scaling)); }); };
    EXPECT_THAT(
        refused({{"type", "dynamic"}, {"factor", 2}}),
        HasSubstr("key 'rope_scaling.type' is the string 'dynamic'; minfer's Qwen2 converter knows linear, yarn only"));
    EXPECT_THAT(refused({{"rope_type", "llama3"}, {"factor", 8}}),
                HasSubstr("Qwen2 converter knows linear, yarn only"));
    EXPECT_THAT(refused({{"rope_type", "yarn"}, {"factor", 4}, {"mscale", 1}}), HasSubstr("rope_scaling.mscale"));
    EXPECT_THAT(refused({{"mrope_section", {1, 2}}, {"type", "default"}}), HasSubstr("rope_scaling.mrope_section"));
    EXPECT_THAT(message_of<FormatError>([&] { plan({{"type", "linear"}}); }),
                HasSubstr("key 'rope_scaling.factor': found no such key"));
}

TEST(Plan, Llama3FactorsAreATensor) {
    TinyCheckpoint tiny("llama");
    tiny.config["rope_scaling"] = {{"rope_type", "llama3"},
                                   {"factor", 8.0},
                                   {"low_freq_factor", 1.0},
                                   {"high_freq_factor", 4.0},
                                   {"original_max_position_embeddings", 64}};
    tiny.write();
    const convert::Conversion c = plan_conversion(tiny.options());
    ASSERT_EQ(c.tensors()[0].spec.name, "rope_freqs.weight");
    const std::vector<float>& factors = c.tensors()[0].factors;
    ASSERT_EQ(factors.size(), 8u);
    EXPECT_EQ(factors.front(), 1.0f);  // a wave of 2 pi positions
    EXPECT_EQ(factors.back(), 8.0f);   // one far longer than 64
    // Wave 1 has 2 pi 10^0.5 = 19.87 positions, between 64/4 and 64/1: smooth = (64/19.869 - 1) / 3.
    EXPECT_NEAR(factors[1], 1 / ((1 - 0.74037) / 8 + 0.74037), 1e-4);
    EXPECT_EQ(value(c, "llama.rope.scaling.type"), nullptr);
}

TEST(Plan, NormsStayF32AndShortRowsTakeF16) {
    TinyCheckpoint tiny;
    tiny.config["intermediate_size"] = 48;
    for (const char* layer : {"0", "1"})
        for (const char* name : {"gate_proj", "up_proj", "down_proj"}) {
            TinyTensor& t = tiny.tensor(std::string("model.layers.") + layer + ".mlp." + name + ".weight");
            std::ranges::replace(t.shape, uint64_t(64), uint64_t(48));
        }
    tiny.write();
    const convert::Conversion c = plan_conversion(tiny.options(gguf::TensorType::Q8_0));
    for (const convert::PlannedTensor& t : c.tensors()) {
        const bool vector = t.mapped.shape.size() == 1, down = t.spec.name.find("ffn_down") != std::string::npos;
        EXPECT_EQ(t.spec.type, vector ? gguf::TensorType::F32
                               : down ? gguf::TensorType::F16
                                      : gguf::TensorType::Q8_0)
            << t.spec.name;
    }
    EXPECT_EQ(get<uint32_t>(c, "general.file_type"), 7u);
}

TEST(Plan, ReadsChatTemplatesWhereverTheyAre) {
    TinyCheckpoint tiny;
    tiny.tokenizer_config.erase("chat_template");
    EXPECT_EQ(refusal(tiny),
              (tiny.folder() / "tokenizer_config.json").string() +
                  " has no 'chat_template'; minfer's strict loader renders the model's own template, so a "
                  "converted GGUF without one is not accepted; --no-chat-template converts without one");
    convert::ConvertOptions without = tiny.options();
    without.require_chat_template = false;
    EXPECT_EQ(value(plan_conversion(without), "tokenizer.chat_template"), nullptr);

    write_file(tiny.folder() / "chat_template.json", R"({"chat_template":"from json"})");
    EXPECT_EQ(get<std::string>(plan_conversion(tiny.options()), "tokenizer.chat_template"), "from json");
    write_file(tiny.folder() / "chat_template.jinja", "from\r\njinja\r");
    EXPECT_EQ(get<std::string>(plan_conversion(tiny.options()), "tokenizer.chat_template"), "from\njinja\n");
    std::filesystem::create_directory(tiny.folder() / "additional_chat_templates");
    write_file(tiny.folder() / "additional_chat_templates" / "tool use.jinja", "tools");
    {
        const convert::Conversion c = plan_conversion(tiny.options());
        EXPECT_EQ(get<std::string>(c, "tokenizer.chat_template.tool_use"), "tools");
        EXPECT_EQ(get<std::vector<std::string>>(c, "tokenizer.chat_templates"), std::vector<std::string>{"tool_use"});
        EXPECT_EQ(get<std::string>(c, "tokenizer.chat_template"), "from\njinja\n");
    }
    tiny.tokenizer_config["chat_template"] = "inside";
    tiny.write();
    EXPECT_EQ(get<std::string>(plan_conversion(tiny.options()), "tokenizer.chat_template"), "inside");
    tiny.tokenizer_config["chat_template"] = {{{"name", "r\u00e4g"}, {"template", "r"}},
                                              {{"name", "default"}, {"template", "d"}}};
    tiny.write();
    const convert::Conversion c = plan_conversion(tiny.options());
    EXPECT_EQ(get<std::string>(c, "tokenizer.chat_template"), "d");
    EXPECT_EQ(get<std::string>(c, "tokenizer.chat_template.r_g"), "r");
    tiny.tokenizer_config["chat_template"] = 3;
    EXPECT_THAT(refusal<FormatError>(tiny), HasSubstr("key 'chat_template': found the number 3"));
}

TEST(Plan, ReadsTheRecommendedSampling) {
    TinyCheckpoint tiny;
    tiny.generation_config = {{"temperature", 0.25},       {"top_k", 7},
                              {"top_p", nullptr},          {"min_p", 0.5},
                              {"repetition_penalty", 1.5}, {"eos_token_id", {1, 2}}};
    tiny.write();
    {
        const convert::Conversion c = plan_conversion(tiny.options());
        EXPECT_EQ(get<float>(c, "general.sampling.temp"), 0.25f);
        EXPECT_EQ(get<int32_t>(c, "general.sampling.top_k"), 7);
        EXPECT_EQ(value(c, "general.sampling.top_k")->type(), gguf::ValueType::I32);
        EXPECT_EQ(value(c, "general.sampling.top_p"), nullptr);
        EXPECT_EQ(get<float>(c, "general.sampling.min_p"), 0.5f);
        EXPECT_EQ(get<float>(c, "general.sampling.penalty_repeat"), 1.5f);
    }
    for (const char* text : {"{", R"({"temperature":-1e999})"}) {
        write_file(tiny.folder() / "generation_config.json", text);
        const convert::Conversion c = plan_conversion(tiny.options());
        ASSERT_EQ(c.notes().size(), 1u);
        EXPECT_THAT(c.notes()[0], HasSubstr("generation_config.json")) << text;
    }
    tiny.generation_config["top_k"] = 1e12;
    EXPECT_THAT(refusal<FormatError>(tiny), HasSubstr("key 'top_k'"));
    for (const Json& number : {Json(~uint64_t(0)), Json(int64_t(1) << 32), Json(-(int64_t(1) << 40)), Json(0.5)}) {
        tiny.generation_config["top_k"] = number;
        EXPECT_THAT(refusal<FormatError>(tiny), HasSubstr("expected an integer of 32 bits")) << number;
    }
    tiny.generation_config["top_k"] = -1;
    for (const double number : {1e300, -1e300, 3.5e38}) {
        tiny.generation_config["temperature"] = number;
        EXPECT_THAT(refusal<FormatError>(tiny), HasSubstr("key 'temperature': found the number")) << number;
        EXPECT_THAT(refusal<FormatError>(tiny), HasSubstr("expected a number that float32 holds")) << number;
    }
    tiny.generation_config["temperature"] = 3.4e38;
    tiny.write();
    EXPECT_EQ(get<int32_t>(plan_conversion(tiny.options()), "general.sampling.top_k"), -1);
}

TEST(Plan, ReadsThePoolingOfEmbeddingModels) {
    TinyCheckpoint tiny("qwen3");
    tiny.write();
    write_file(
        tiny.folder() / "modules.json",
        R"([{"type":"sentence_transformers.models.Transformer","path":""},{"type":"a.Pooling","path":"1_Pooling"}])");
    std::filesystem::create_directory(tiny.folder() / "1_Pooling");
    write_file(tiny.folder() / "1_Pooling" / "config.json", R"({"pooling_mode_lasttoken":true})");
    EXPECT_EQ(get<uint32_t>(plan_conversion(tiny.options()), "qwen3.pooling_type"), 3u);
    write_file(tiny.folder() / "modules.json", R"([{"type":"a.Pooling","path":"../../x"}])");
    EXPECT_THAT(message_of<FormatError>([&] { plan_conversion(tiny.options()); }),
                HasSubstr("the path '../../x', expected a file inside the folder"));
    write_file(tiny.folder() / "modules.json", R"([{"type":"a.Pooling","type":"b","path":"1_Pooling"}])");
    EXPECT_THAT(message_of<FormatError>([&] { plan_conversion(tiny.options()); }),
                HasSubstr("key 'type': found it twice in one object"));
    write_file(tiny.folder() / "modules.json", "{}");
    EXPECT_THAT(message_of<FormatError>([&] { plan_conversion(tiny.options()); }),
                HasSubstr("top level: found an object, expected a list of modules"));
}

TEST(Plan, DoesNotOverwriteItsInput) {
    const TinyCheckpoint tiny;
    tiny.write();
    convert::ConvertOptions options = tiny.options();
    for (const char* name : {"model.safetensors", "config.json"}) {
        options.output = (tiny.folder() / name).string();
        EXPECT_THAT(message_of<Error>([&] { plan_conversion(options); }), HasSubstr("is a file of the checkpoint"));
    }
}

}  // namespace
}  // namespace minfer::test
