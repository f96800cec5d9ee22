// minfer bench as a program: its words, its three ways to print, and that what it prints is of the model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "model/tiny_file.h"
#include "support/support.h"

namespace minfer {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class Bench : public testing::Test {
  protected:
    Bench() { test::tiny_file("llama").write(model()); }

    std::string model() const { return folder_ / "model.gguf"; }
    test::Finished bench(std::vector<std::string> words) const {
        words.insert(words.begin(), {test::binary(), "bench"});
        return test::run(words);
    }
    json results(std::vector<std::string> words) const {
        words.insert(words.end(), {"-o", "json"});
        const test::Finished done = bench(words);
        EXPECT_EQ(done.status, 0) << done.err;
        return json::parse(done.out);
    }
    void fails(const std::vector<std::string>& words, int status, const std::string& message) const {
        const test::Finished done = bench(words);
        EXPECT_EQ(done.status, status) << done.err;
        EXPECT_THAT(done.err, AllOf(StartsWith("minfer bench: "), HasSubstr(message)));
        EXPECT_EQ(done.out, "");
    }

    test::TemporaryFolder folder_;
};

TEST_F(Bench, JsonIsAListOfWhatWasMeasured) {
    const json all = results({model(), "-p", "8", "-n", "4", "-d", "3", "-r", "3", "-t", "1"});
    ASSERT_EQ(all.size(), 2u);
    const json &prompt = all[0], &gen = all[1];
    EXPECT_EQ(prompt["n_prompt"], 8);
    EXPECT_EQ(prompt["n_gen"], 0);
    EXPECT_EQ(gen["n_prompt"], 0);
    EXPECT_EQ(gen["n_gen"], 4);
    for (const json& r : all) {
        EXPECT_EQ(r["depth"], 3);
        EXPECT_EQ(r["threads"], 1);
        EXPECT_EQ(r["model"], "model.gguf");
        EXPECT_EQ(r["architecture"], "llama");
        EXPECT_EQ(r["n_sequences"], 1);
        EXPECT_EQ(r["repeats"], 3);
        ASSERT_EQ(r["samples"].size(), 3u);
        std::vector<double> samples = r["samples"];
        std::sort(samples.begin(), samples.end());
        EXPECT_EQ(r["tokens_per_second"], samples[1]);
        EXPECT_EQ(r["tokens_per_second_min"], samples[0]);
        EXPECT_EQ(r["tokens_per_second_max"], samples[2]);
        EXPECT_GT(samples[0], 0.0);
        const double rate = samples[1];
        for (const char* key : {"bytes_per_token", "read_bandwidth", "multiply_adds_per_token", "integer_peak",
                                "float_peak", "load_seconds", "peak_memory_bytes"})
            EXPECT_GT(r[key].get<double>(), 0.0) << key;
        const double share = r["bytes_per_token"].get<double>() * rate / r["read_bandwidth"].get<double>();
        EXPECT_NEAR(r["bandwidth_share"], share, 1e-9 * share);
        // The model is F32, so the float unit does all of it.
        const double peak = r["multiply_adds_per_token"].get<double>() * rate / r["float_peak"].get<double>();
        EXPECT_NEAR(r["peak_share"], peak, 1e-9 * peak);
    }
    EXPECT_LT(prompt["bytes_per_token"], gen["bytes_per_token"]);
}

TEST_F(Bench, ListsMultiplyOut) {
    const json all = results({"-p", "4,6", "-n", "2,3", "-d", "0,5", "-t", "1,2", "-s", "1,2", "-r", "1,2", model()});
    std::vector<std::vector<int>> all_numbers;
    for (const json& r : all) {
        EXPECT_EQ(r["samples"].size(), r["repeats"]);
        std::vector<int>& numbers = all_numbers.emplace_back();
        for (const char* key : {"n_prompt", "n_gen", "depth", "threads", "n_sequences", "repeats"})
            numbers.push_back(r[key]);
    }
    EXPECT_EQ(all.size(), 4u * 2 * 2 * 2 * 2);
    const std::set<std::vector<int>> different(all_numbers.begin(), all_numbers.end());
    EXPECT_EQ(different.size(), all.size()) << "and none comes twice";
    EXPECT_TRUE(different.contains({6, 0, 5, 2, 2, 1}));
    EXPECT_TRUE(different.contains({0, 3, 5, 1, 1, 2}));
}

TEST_F(Bench, ZeroLeavesOneOut) {
    EXPECT_EQ(results({model(), "-p", "0", "-n", "2", "-r", "1", "-t", "1"}).size(), 1u);
    EXPECT_EQ(results({model(), "-p", "4", "-n", "0", "-r", "1", "-t", "1"}).size(), 1u);
    fails({model(), "-p", "0", "-n", "0"}, 2, "nothing to time");
}

TEST_F(Bench, TheHashOfTheLogitsDependsOnNoThreads) {
    const json all = results({model(), "-p", "20", "-n", "3", "-d", "70", "-t", "1,2", "-r", "1"});
    ASSERT_EQ(all.size(), 4u);
    EXPECT_EQ(all[0]["logits_hash"], all[2]["logits_hash"]);
    EXPECT_EQ(all[1]["logits_hash"], all[3]["logits_hash"]);
    EXPECT_NE(all[0]["logits_hash"], all[1]["logits_hash"]);
}

TEST_F(Bench, CsvHasALineForEachAndTheKeysAbove) {
    const test::Finished done = bench({model(), "-p", "4", "-n", "2", "-r", "2", "-t", "1", "-o", "csv"});
    EXPECT_EQ(done.status, 0) << done.err;
    std::istringstream in(done.out);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_THAT(lines[0], StartsWith("model,architecture,file_bytes,"));
    EXPECT_THAT(lines[1], StartsWith("model.gguf,llama,"));
    const auto commas = [](const std::string& line) { return std::count(line.begin(), line.end(), ','); };
    EXPECT_EQ(commas(lines[1]), commas(lines[0]));
    EXPECT_EQ(commas(lines[2]), commas(lines[0]));
}

TEST_F(Bench, MarkdownIsATable) {
    const test::Finished done = bench({model(), "-p", "4", "-n", "2", "-d", "3", "-s", "2", "-r", "2", "-t", "1"});
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_THAT(done.out, StartsWith("model.gguf: llama, "));
    EXPECT_THAT(done.out, HasSubstr("\n| threads | test "));
    EXPECT_THAT(done.out, HasSubstr("| 2 x prompt 4 at 3 "));
    EXPECT_THAT(done.out, HasSubstr("| 2 x gen 2 at 3 "));
}

TEST_F(Bench, BadWordsExitWith2) {
    fails({}, 2, "MODEL");
    fails({model(), "-p", "x"}, 2, "x");
    fails({model(), "-p", "-1"}, 2, "-1");
    fails({model(), "-n", "4,x"}, 2, "x");
    fails({model(), "-t", "0"}, 2, "0");
    fails({model(), "-r", "0"}, 2, "0");
    fails({model(), "-s", "0"}, 2, "0");
    fails({model(), "-o", "xml"}, 2, "xml");
    fails({model(), "--frobnicate"}, 2, "--frobnicate");
    fails({model(), "-p", "100000000000"}, 2, "100000000000");
    fails({model(), "-p", "16777216", "-d", "16777216"}, 2, "context size");
    fails({"absent.gguf"}, 1, "'absent.gguf' is no model");
}

}  // namespace
}  // namespace minfer
