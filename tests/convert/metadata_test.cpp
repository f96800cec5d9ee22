// Names and model cards against the gguf package, which is the reference's own code for them.
#include "convert/metadata.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "convert/model_name.h"
#include "convert/yaml_scalar.h"
#include "cpu_time.h"
#include "tiny_checkpoint.h"

namespace minfer::test {
namespace {

using convert::NameParts;
using testing::HasSubstr;

Json ask_oracle(const Json& job) {
    const Finished done =
        run({python().string(), (source_dir() / "tests" / "convert" / "metadata_oracle.py").string()}, job.dump());
    if (done.status != 0) throw std::runtime_error(done.err);
    return Json::parse(done.out);
}

Json no_questions() { return {{"names", Json::array()}, {"cards", Json::array()}, {"scalars", Json::array()}}; }

// Texts made of a few of these pieces: what is almost of a known form, and what is.
std::vector<std::string> random_texts(std::initializer_list<const char*> pieces, size_t n, size_t max_pieces) {
    std::mt19937 random(1);
    std::vector<std::string> out;
    for (size_t i = 0; i < n; ++i) {
        std::string text;
        for (size_t left = 1 + random() % max_pieces; left > 0; --left)
            text += pieces.begin()[random() % pieces.size()];
        out.push_back(std::move(text));
    }
    return out;
}

Json json(const std::optional<std::string>& text) { return text ? Json(*text) : Json(); }

TEST(ModelName, IsTakenApartAsTheReferenceDoes) {
    MINFER_SKIP_WITHOUT(python());
    std::vector<std::string> names = {"Tiny-0.1B-Instruct-v1.5",
                                      "Qwen2.5-0.5B-Instruct",
                                      "Qwen/Qwen2.5-Coder-7B-Instruct",
                                      "Qwen3-0.6B",
                                      "SmolLM2-135M",
                                      "meta-llama/Llama-3.2-1B-Instruct",
                                      "Mistral-7B-Instruct-v0.3",
                                      "mixtral-8x7b-v0.1",
                                      "bloom-7b1",
                                      "gpt2-xl",
                                      "gpt2-medium",
                                      "phi-3-mini-128k-instruct",
                                      "Yi-1.5-9B-Chat-16K",
                                      "gemma-2-2b-it-Q4_K_M",
                                      "x-F16-GGUF",
                                      "model",
                                      "a sentence with spaces",
                                      "./local-dir",
                                      "../up/7b",
                                      "org/with/two",
                                      "Meta-Llama-3-8B",
                                      "v1.5",
                                      "v2-7B",
                                      "7B",
                                      "llama-7B-7B-chat",
                                      "small-xxl",
                                      "name--double-",
                                      "-lead",
                                      "A3B-moe-30B-A3B",
                                      "Qwen3-30B-A3B-Instruct-2507",
                                      "iter3-sppo",
                                      "Foo-Bar-iter2",
                                      "tiny_llama-1.1b-chat-v1.0",
                                      "granite-3.0-2b-base",
                                      "bfp16-x-fp32",
                                      "MODEL-1.5T",
                                      "x-1_5b",
                                      "x-100k",
                                      "x-68m",
                                      "llava-v1.6-vicuna-13b",
                                      "lora-adapter-lora",
                                      "\u00e9t\u00e9-mod\u00e8le-7b",
                                      "\u65e5\u672c-7B",
                                      "o'neil's-model",
                                      "model-\u00df",
                                      "X.y-z.w-q8",
                                      "12-34",
                                      "1.5-B",
                                      "chat-instruct",
                                      "deepseek-r1-distill-qwen-1.5b",
                                      "UPPER-lower-MiXed",
                                      "x-" + std::string(400, '9') + "B",
                                      "x-" + std::string(100, '0') + "7B"};
    for (std::string& name :
         random_texts({"-", "-", "-", ".", "_",  "v",   "iter", "1",  "8",     "16", "32",   "x",    "A",
                       "B", "k", "m", "T", "q4", "IQ2", "bf",   "FP", "small", "xl", "Chat", "lora", "a"},
                      1000, 12))
        names.push_back(std::string("Q").append(name));
    Json job = no_questions();
    for (const std::string& name : names)
        for (const uint64_t n : {uint64_t(0), uint64_t(1'500'000), uint64_t(494'032'768), uint64_t(7'615'616'512)})
            job["names"].push_back({name, n});
    for (const uint64_t n :
         {1ull, 999ull, 1000ull, 9949ull, 12'345ull, 99'500ull, 999'999ull, 1'000'000ull, 1'000'001ull, 9'949'999ull,
          9'950'001ull, 135'000'000ull, 1'000'000'001ull, 1'235'814'400ull, 70'553'706'496ull, 2'000'000'000'000ull})
        job["names"].push_back({"n", n});
    const Json answer = ask_oracle(job);
    for (size_t i = 0; i < job["names"].size(); ++i) {
        const std::string name = job["names"][i][0];
        const uint64_t n = job["names"][i][1];
        const Json& expected = answer["names"][i];
        const NameParts p = convert::parse_model_name(name, n);
        const Json parts = {json(p.full_name), json(p.organization), json(p.basename),
                            json(p.finetune),  json(p.version),      json(p.size_label)};
        EXPECT_EQ(parts, expected["parts"]) << name << " " << n;
        EXPECT_EQ(Json(convert::size_label(n)), expected["size_label"]) << n;
        if (name != "model-\u00df") {  // its capital has two letters
            EXPECT_EQ(Json(convert::title_of_name(name)), expected["title"]);
        }
    }
}

Json to_json(const convert::Metadata& metadata) {
    Json out = Json::object();
    for (const gguf::KeyValue& entry : metadata) {
        if (const auto text = entry.value.as<std::string>())
            out[entry.key] = *text;
        else if (const auto list = entry.value.as<std::vector<std::string>>())
            out[entry.key] = *list;
        else
            out[entry.key] = entry.value.as<uint32_t>().value();
    }
    return out;
}

TEST(ModelCard, GivesTheKeysThatTheReferenceGives) {
    MINFER_SKIP_WITHOUT(python());
    const auto front = [](const std::string& yaml) { return "---\n" + yaml + "---\n# Title\nlicense: not-this\n"; };
    const std::vector<Json> readmes = {
        nullptr, "", "no front matter\n---\nname: x\n---\n", front(""), front("- a list\n"), front("just text\n"),
        front("license: mit\nlicense_name: My Licence\nlicense_link: LICENSE\nlanguage:\n- en\n- no\n- de\n"),
        front("license:\n- mit\n- apache-2.0\nlanguage: fr\ntags: one\npipeline_tag: text-generation\n"),
        front("base_model: Qwen/Qwen2.5-7B\nbase_model_relation: quantized\ndatasets:\n- a/b\n- c\n"),
        front("base_model:\n- https://huggingface.co/Org/Some-Model-7B-v2\n- https://huggingface.co/Org/a/b\n- "
              "http://example.org/x\n"),
        front("base_models:\n- name: Mine\n  author: me\n  repo_url: https://example.org\n- Other/Thing-v3\n- 17\n"),
        front("base_model: []\ndataset: https://huggingface.co/Org/data-v1.1\n"), front("base_model:\ndatasets:\n"),
        front("model_name: Card Name\nmodel_creator: Someone\nmodel_type: mistral\nmodel_description: words\n"),
        front("name: n1\nmodel_name: n2\nauthor: a1\nversion: v9\norganization: o\nfinetune: f\nbasename: "
              "b\nsize_label: 3B\n"),
        front("url: u\ndoi: d\nuuid: i\nrepo_url: r\nmodel_url: not\n"), front("name:\nmodel_name: used\n"),
        front("tags:\n- chat\n- \"a: quoted tag\"\n- 'no'\n\nlanguages:\n- en\nlanguage:\n- de\n"),
        front("description: |\n  two\n  lines\ntags: [x, y]\n"), "---\r\nlicense: mit\r\ntags:\r\n- a\r\n---\r\n",
        "---\nlicense: mit\ntags: [never, closed]\n", "--- \nlicense: mit\n---\n",
        front("license: \"no\"\nlanguage: no\n"), front("name: caf\u00e9 \u65e5\u672c\nanchors: &a [x]\ntags: *a\n"),
        // Keys that stand twice, and merges.
        front("license: mit\nlicense: gpl\ntags: [a]\ntags: [b]\n\"license\": bsd\n"),
        front("name: n\nname:\nmodel_name: m\n"), front("<<: {license: mit, author: me}\nauthor: you\n"),
        front("author: you\nx: &x {license: mit, author: me}\n<<: *x\n"),
        front("a: &a {license: mit}\nb: &b {author: b, name: b}\n<<: [*a, *b, *a]\n"),
        front("a: &a {license: mit}\nb: &b {license: gpl, name: b}\n<<: *a\n<<: *b\n"),
        front("a: &a {license: mit, name: a}\nb: &b {<<: *a, name: b}\n<<: *b\n"),
        front("a: &a {author: me, version: v1}\nbase_models:\n- {<<: *a, name: n, version: v2, name: m}\n- *a\n"),
        front("\"<<\": {license: mit}\n1: {a: b}\nyes: x\n<<: {}\n<<: []\n"),
        front("license: x\ntags:\n- no\n- x - no\n")};
    Json job = no_questions();
    for (const Json& readme : readmes)
        job["cards"].push_back({{"readme", readme},
                                {"config", Json::object()},
                                {"folder", "Tiny-7B-Chat-v2"},
                                {"n_params", 7'000'000'000}});
    for (const char* path :
         {"org/Some-Model-7B-Instruct", "/home/me/model", "plain", "./x", "meta-llama/Llama-2-7b-hf"})
        job["cards"].push_back({{"readme", nullptr},
                                {"config", {{"_name_or_path", path}}},
                                {"folder", "checkpoint 5"},
                                {"n_params", 6'700'000'000}});
    const Json answer = ask_oracle(job);
    for (size_t i = 0; i < job["cards"].size(); ++i) {
        const Json& c = job["cards"][i];
        const convert::ModelCard card =
            convert::parse_model_card(c["readme"].is_null() ? "" : c["readme"].get<std::string>(), "README.md");
        const convert::Metadata metadata =
            convert::authorship_metadata(card, c["config"].value("_name_or_path", ""), c["folder"], c["n_params"]);
        EXPECT_EQ(to_json(metadata), answer["cards"][i]) << c.dump(1);
    }
}

TEST(ModelCard, KnowsStringsAsPyYamlDoes) {
    MINFER_SKIP_WITHOUT(python());
    std::vector<std::string> scalars = {
        "",       "~",       "null",  "Null",       "nULL",     "yes",    "y",
        "On",     "oN",      "false", "<<",         "=",        "==",     "0",
        "-0",     "08",      "017",   "0o17",       "0x1F",     "0b12",   "1_0",
        "_1",     "1.",      ".",     "-.5",        ".5",       "1e5",    "1.e5",
        "1.5e+3", "+.inf",   ".nan",  "-.nan",      "1:59",     "1:60",   "1:5.5",
        "1:.5",   "190:20",  "0:1",   "2024-01-02", "2024-1-2", "v1.0",   "mit",
        "-",      "2024-12", "1,000", "12e",        ".e+1",     "1:2:3.", "2024-01-02T3:04:05.6 +07:00"};
    for (std::string& text : random_texts({"0", "1", "7", "9", "_", ".", ":", "-", "+", "e", "x", "b", "E+"}, 2000, 7))
        scalars.push_back(std::move(text));
    for (std::string& text : random_texts(
             {"2024-01-02", "2024-1-12", "T", " ", "\t", "1:02:03", "12:34:56", ".", "5", "Z", "+1", ":30"}, 2000, 6))
        scalars.push_back(std::move(text));
    Json job = no_questions();
    job["scalars"] = scalars;
    const Json answer = ask_oracle(job)["scalars"];
    for (size_t i = 0; i < scalars.size(); ++i)
        EXPECT_EQ(convert::is_plain_yaml_string(scalars[i]), answer[i].get<bool>()) << "'" << scalars[i] << "'";
}

// Each of these took minutes, or all memory.
TEST(ModelCard, IsReadInTimeThatGrowsWithItsSize) {
    const auto repeated = [](const std::string& text, size_t n) {
        std::string out;
        for (size_t i = 0; i < n; ++i) out += text;
        return out;
    };
    const auto read = [](const std::string& yaml) {
        const convert::ModelCard card = convert::parse_model_card("---\n" + yaml + "---\n", "README.md");
        return convert::authorship_metadata(card, "", "x", 7'000'000'000);
    };
    const double start = cpu_seconds();
    EXPECT_FALSE(read("base_model: " + repeated("a-", 100'000) + "\n").empty());
    EXPECT_FALSE(read("base_model: " + repeated("7B-v1-q4-chat-", 100'000) + "\n").empty());
    EXPECT_FALSE(read("base_model:\n" + repeated("- Org/Some-Model-7B-v2\n", 50'000)).empty());
    EXPECT_FALSE(read("tags:\n" + repeated("- no\n", 200'000)).empty());
    std::string sizes = "base_model: x";
    for (int i = 0; i < 100'000; ++i) sizes.append("-").append(std::to_string(i)).append("B");
    EXPECT_FALSE(read(sizes + "\n").empty());
    if (kSpeedCounts) {
        EXPECT_LT(cpu_seconds() - start, 20.0);
    }
}

TEST(ModelCard, AliasesAreBounded) {
    const auto fault = [](const std::string& yaml) {
        return message_of<FormatError>([&] { convert::parse_model_card("---\n" + yaml + "---\n", "README.md"); });
    };
    std::string many, text(100'000, 'x');
    for (int i = 0; i < 1000; ++i) many += i == 0 ? "*a" : ", *a";
    for (const std::string& yaml :
         {fmt::format("x: &a {}\ntags: [{}]\n", text, many), fmt::format("x: &a {}\nbase_model: [{}]\n", text, many),
          fmt::format("x: &a {{name: {}}}\nbase_model: [{}]\n", text, many),
          fmt::format("x: &a {{{}: 1}}\n<<: [{}]\n", text.substr(0, 1000), many),
          fmt::format("x: &a {{}}\ny: &b {{<<: [{0}]}}\nz: &a {{<<: [*b, *b, *b, *b]}}\n<<: [{0}]\n", many)})
        EXPECT_EQ(fault(yaml), "README.md: front matter: found aliases without end, expected few of them");
    EXPECT_EQ(fault("x: &a {<<: *a}\n<<: *a\n"),
              "README.md: key '<<': found merges of merges, expected at most 8 deep");
    EXPECT_THAT(fault("<<: 5\n"), HasSubstr("key '<<': found a text, expected a mapping, or a list of mappings"));
    EXPECT_EQ(fault("<<: [{name: a}, {license: b}, {name: a}]\n"),
              "README.md: key '<<': found key 'name' in two mappings of its list, expected it in one");
    EXPECT_THAT(fault("<<: [{}, []]\n"), HasSubstr("key '<<': found a list"));
}

TEST(ModelCard, TakesNumbersAsTheyAreSpelled) {  // the reference fails on these
    const convert::ModelCard card =
        convert::parse_model_card("---\nversion: 1.50\ntags: [2024, yes, x]\n---\n", "README.md");
    EXPECT_EQ(card.texts.at("version"), "1.50");
    EXPECT_EQ(card.tags, (std::vector<std::string>{"2024", "yes", "x"}));
}

TEST(ModelCard, ATabIsTwoSpaces) {  // newer than the package's reading
    const convert::ModelCard card = convert::parse_model_card("---\ntags:\n\t- a\nlicense:\tmit\n---\n", "README.md");
    EXPECT_EQ(card.tags, std::vector<std::string>{"a"});
    EXPECT_EQ(card.texts.at("license"), "mit");
}

TEST(ModelCard, NamesWhatIsOff) {
    const auto fault = [](const std::string& yaml) {
        return message_of<FormatError>([&] { convert::parse_model_card("---\n" + yaml + "\n---\n", "README.md"); });
    };
    EXPECT_THAT(fault("license: mit\nname: [a, b]"), HasSubstr("README.md: key 'name': found a list, expected a text"));
    EXPECT_THAT(fault("tags: [[a]]"), HasSubstr("key 'tags': found a list"));
    EXPECT_THAT(fault("license: mit\n  x: [:"), HasSubstr("README.md: front matter, line"));
    EXPECT_THAT(fault(std::string(100000, '[')), HasSubstr("README.md: front matter"));
}

}  // namespace
}  // namespace minfer::test
