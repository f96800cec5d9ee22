// The planner against the type tables of llama.cpp's own tests, and its options one by one.
#include "quant/planner.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "base/error.h"
#include "support/support.h"

namespace minfer::quant {
namespace {

using gguf::TensorType;

// A dense model's tensors in reference order.
std::vector<TensorFacts> dense_model(uint64_t n_embd, uint64_t n_ff, uint64_t n_vocab, int n_layer, uint64_t n_q,
                                     uint64_t n_kv, bool tied, TensorType type = TensorType::F16) {
    std::vector<TensorFacts> tensors = {{"token_embd.weight", {n_embd, n_vocab, 1, 1}, type},
                                        {"output_norm.weight", {n_embd, 1, 1, 1}, TensorType::F32}};
    if (!tied) tensors.push_back({"output.weight", {n_embd, n_vocab, 1, 1}, type});
    for (int i = 0; i < n_layer; ++i) {
        auto add = [&](const char* name, uint64_t row, uint64_t rows) {
            tensors.push_back(
                {fmt::format("blk.{}.{}", i, name), {row, rows, 1, 1}, rows == 1 ? TensorType::F32 : type});
        };
        add("attn_norm.weight", n_embd, 1);
        add("attn_q.weight", n_embd, n_q);
        add("attn_q.bias", n_q, 1);
        add("attn_k.weight", n_embd, n_kv);
        add("attn_v.weight", n_embd, n_kv);
        add("attn_output.weight", n_q, n_embd);
        add("ffn_norm.weight", n_embd, 1);
        add("ffn_gate.weight", n_embd, n_ff);
        add("ffn_up.weight", n_embd, n_ff);
        add("ffn_down.weight", n_ff, n_embd);
    }
    std::sort(tensors.begin(), tensors.end(),
              [](const auto& a, const auto& b) { return reference_order(a.name, b.name); });
    return tensors;
}

std::map<std::string, PlannedTensor> by_name(const ModelFacts& model, const std::vector<TensorFacts>& tensors,
                                             const PlanOptions& options) {
    const auto planned = plan(model, tensors, options);
    std::map<std::string, PlannedTensor> result;
    for (size_t i = 0; i < tensors.size(); ++i) result.emplace(tensors[i].name, planned[i]);
    return result;
}

PlanOptions options_for(std::string_view name, bool pure) {
    PlanOptions options;
    options.scheme = find_scheme(name);
    options.scheme.pure = pure;
    return options;
}

struct TypeTable {
    std::map<std::string, int64_t> facts;  // n_embd, n_ff, …
    struct Section {
        std::string default_type;
        std::map<std::string, std::string> others;  // tensor to type
    };
    std::map<std::string, Section> sections;  // by file type
};

TypeTable read_table(const std::filesystem::path& path) {
    TypeTable table;
    std::istringstream lines(test::read_file(path));
    TypeTable::Section* section = nullptr;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("#")) {
            for (char& c : line)
                if (c == '=' || c == ',' || c == '#') c = ' ';
            std::istringstream words(line);
            for (std::string word, before; words >> word; before = word)
                if (before.starts_with("n_")) table.facts[before] = std::stoll(word);
        } else if (line.starts_with("[")) {
            const size_t end = line.find(']');
            section = &table.sections[line.substr(1, end - 1)];
            section->default_type = line.substr(end + 2);
        } else if (!line.empty()) {
            const size_t space = line.find(' ');
            section->others[line.substr(0, space)] = line.substr(space + 1);
        }
    }
    return table;
}

class EachTable : public testing::TestWithParam<const char*> {};

TEST_P(EachTable, EveryTensorOfEveryFileType) {
    const auto path = test::shared_dir() / "refs" / "quant-types" / GetParam();
    MINFER_SKIP_WITHOUT(path);
    TypeTable table = read_table(path);
    auto& n = table.facts;
    ASSERT_EQ(n.size(), 6u);
    // Both models have 128 values a head.
    const auto tensors =
        dense_model(uint64_t(n["n_embd"]), uint64_t(n["n_ff"]), uint64_t(n["n_vocab"]), int(n["n_layer"]),
                    uint64_t(n["n_head"]) * 128, uint64_t(n["n_head_kv"]) * 128, /*tied=*/false);
    const ModelFacts model{"qwen3", n["n_layer"], n["n_head"], n["n_head_kv"], 0};
    int compared = 0;
    for (const auto& [name, section] : table.sections) {
        const bool ours = std::any_of(schemes().begin(), schemes().end(), [&, key = name](const Scheme& s) {
            return strcasecmp(std::string(s.name).c_str(), key.c_str()) == 0;
        });
        if (!ours || name == "F32") continue;  // f32 converts vectors too: minfer's own rule
        const auto planned = by_name(model, tensors, options_for(name, /*pure=*/false));
        for (const TensorFacts& tensor : tensors) {
            if (tensor.ne[1] == 1) continue;
            const auto other = section.others.find(tensor.name);
            EXPECT_EQ(gguf::type_name(planned.at(tensor.name).type),
                      other == section.others.end() ? section.default_type : other->second)
                << name << " " << tensor.name;
            ++compared;
        }
        for (const auto& [tensor, type] : section.others)
            EXPECT_TRUE(planned.contains(tensor)) << name << " " << tensor;
    }
    EXPECT_GT(compared, 18 * 190);
}

INSTANTIATE_TEST_SUITE_P(Models, EachTable, testing::Values("qwen3-0.6b.schema", "qwen3-14b.schema"),
                         [](const auto& param) {
                             return std::string(param.param).substr(6, 1) == "0" ? "Small" : "Large";
                         });

const ModelFacts kModel{"qwen2", 24, 14, 2, 0};

TEST(Planner, PureWritesOneTypeAndDemotesRowsThatDoNotFit) {
    // 896 is no multiple of 256, 4864 is.
    const auto tensors = dense_model(896, 4864, 1000, 24, 896, 128, /*tied=*/true);
    for (auto [scheme, fitting, demoted] : {std::tuple{"q4_K", TensorType::Q4_K, TensorType::Q5_0},
                                            {"q5_K", TensorType::Q5_K, TensorType::Q5_1},
                                            {"q6_K", TensorType::Q6_K, TensorType::Q8_0},
                                            {"q2_K", TensorType::Q2_K, TensorType::Q4_0},
                                            {"q3_K", TensorType::Q3_K, TensorType::Q4_0},
                                            {"iq4_xs", TensorType::IQ4_XS, TensorType::IQ4_NL}}) {
        const auto planned = by_name(kModel, tensors, options_for(scheme, /*pure=*/true));
        EXPECT_EQ(planned.at("token_embd.weight").type, demoted) << scheme;
        EXPECT_EQ(planned.at("token_embd.weight").choice, Choice::Demoted) << scheme;
        EXPECT_EQ(planned.at("blk.5.ffn_down.weight").type, fitting) << scheme;
        EXPECT_EQ(planned.at("blk.5.ffn_down.weight").choice, Choice::Base) << scheme;
        EXPECT_EQ(planned.at("blk.5.attn_norm.weight").choice, Choice::Kept) << scheme;
    }
}

TEST(Planner, RowsThatNoBlockDividesBecomeF16) {
    const auto tensors = dense_model(250, 500, 1000, 1, 250, 250, /*tied=*/true, TensorType::F32);
    for (const char* scheme : {"q4_0", "q8_0", "q4_K", "iq4_nl", "iq4_xs", "q6_K"})
        for (bool pure : {false, true}) {
            const auto planned = by_name({"qwen2", 1, 5, 5, 0}, tensors, options_for(scheme, pure));
            EXPECT_EQ(planned.at("blk.0.attn_q.weight").type, TensorType::F16) << scheme;
            EXPECT_EQ(planned.at("token_embd.weight").type, TensorType::F16) << scheme << pure;
        }
}

TEST(Planner, ATiedEmbeddingIsTheOutput) {
    const auto planned =
        by_name(kModel, dense_model(1024, 4096, 1000, 24, 1024, 256, true), options_for("q4_0", false));
    EXPECT_EQ(planned.at("token_embd.weight").type, TensorType::Q6_K);
    EXPECT_EQ(planned.at("token_embd.weight").choice, Choice::Rule);
    const auto untied =
        by_name(kModel, dense_model(1024, 4096, 1000, 24, 1024, 256, false), options_for("q4_0", false));
    EXPECT_EQ(untied.at("token_embd.weight").type, TensorType::Q4_0);
    EXPECT_EQ(untied.at("output.weight").type, TensorType::Q6_K);
    // 896 does not divide into blocks of 256, and Q6_K's stand-in is Q8_0.
    const auto narrow = by_name(kModel, dense_model(896, 4864, 1000, 24, 896, 128, true), options_for("q4_0", false));
    EXPECT_EQ(narrow.at("token_embd.weight").type, TensorType::Q8_0);
}

TEST(Planner, OptionsComeBeforeRules) {
    const auto tensors = dense_model(1024, 4096, 1000, 24, 1024, 256, false);
    PlanOptions options = options_for("q4_K_M", false);
    options.output_type = TensorType::Q8_0;
    options.token_embedding_type = TensorType::Q3_K;
    options.overrides.push_back({tensor_name_pattern("ffn_(up|gate)"), TensorType::Q5_K});
    options.overrides.push_back({tensor_name_pattern("ffn"), TensorType::Q2_K});
    const auto planned = by_name(kModel, tensors, options);
    EXPECT_EQ(planned.at("output.weight").type, TensorType::Q8_0);
    EXPECT_EQ(planned.at("token_embd.weight").type, TensorType::Q3_K);
    EXPECT_EQ(planned.at("blk.0.ffn_up.weight").type, TensorType::Q5_K);
    EXPECT_EQ(planned.at("blk.0.ffn_down.weight").type, TensorType::Q2_K);
    EXPECT_EQ(planned.at("blk.0.ffn_down.weight").choice, Choice::Option);
    EXPECT_EQ(planned.at("blk.0.attn_v.weight").type, TensorType::Q6_K);

    options = options_for("q4_K_M", false);
    options.quantize_output = false;
    EXPECT_EQ(by_name(kModel, tensors, options).at("output.weight").choice, Choice::Kept);
    EXPECT_EQ(by_name(kModel, tensors, options).at("output.weight").type, TensorType::F16);
}

TEST(Planner, ATypeNamedForRowsThatItCannotHoldIsRefused) {
    const auto tensors = dense_model(896, 4864, 1000, 24, 896, 128, false);
    PlanOptions options = options_for("q4_0", false);
    options.output_type = TensorType::Q6_K;
    try {
        plan(kModel, tensors, options);
        FAIL();
    } catch (const ShapeError& e) {
        EXPECT_STREQ(
            e.what(),
            "tensor 'output.weight' has rows of 896 values; the type asked for, q6_K, needs a multiple of 256");
    }
}

TEST(Planner, OnlyQ2KSNeedsImportance) {
    const auto tensors = dense_model(1024, 4096, 1000, 24, 1024, 256, false);
    for (const Scheme& scheme : schemes()) {
        const auto planned = by_name(kModel, tensors, options_for(scheme.name, false));
        EXPECT_EQ(planned.at("blk.3.ffn_up.weight").needs_importance, scheme.name == "q2_K_S") << scheme.name;
        EXPECT_FALSE(planned.at("output.weight").needs_importance) << scheme.name;
    }
}

TEST(Planner, F32TakesEverything) {
    const auto tensors = dense_model(896, 4864, 1000, 2, 896, 128, true);
    for (const auto& [name, planned] : by_name(kModel, tensors, options_for("f32", false)))
        EXPECT_EQ(planned.type, TensorType::F32) << name;
}

TEST(Planner, TheReferencesOrderIsByBlockThenName) {
    std::vector<std::string> names = {"blk.10.a", "output.weight", "blk.2.b", "blk.2.a", "a"};
    std::sort(names.begin(), names.end(), reference_order);
    EXPECT_EQ(names, (std::vector<std::string>{"a", "output.weight", "blk.2.a", "blk.2.b", "blk.10.a"}));
}

TEST(Scheme, NamesAreFoundInAnyCaseAndOthersRefusedInTheSpecificationsWords) {
    EXPECT_EQ(find_scheme("Q4_k_m").file_type, FileType::Q4_K_M);
    try {
        find_scheme("iq2_xxs");
        FAIL();
    } catch (const Error& e) {
        EXPECT_EQ(
            std::string(e.what()),
            "target \"iq2_xxs\" is a known GGUF type but minfer has no weight encoder for it (minfer can only read it, "
            "so writing it would emit wrong weights); supported encoder targets: " +
                scheme_names());
    }
    try {
        find_scheme("banana");
        FAIL();
    } catch (const Error& e) {
        EXPECT_EQ(std::string(e.what()), "unknown quant target \"banana\"; supported: " + scheme_names());
    }
}

}  // namespace
}  // namespace minfer::quant
