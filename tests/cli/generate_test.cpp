// minfer MODEL [PROMPT], logits and perplexity as programs: words, streams and exit statuses. The model is a few
// kilobytes whose tokens are bytes; what it says means nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "model/tiny_file.h"
#include "support/support.h"

namespace minfer {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

class RunModel : public testing::Test {
  protected:
    RunModel() {
        fs::create_directories(folder_ / "cache/minfer/models");
        test::TinyFile f = test::tiny_file("llama", {.n_vocab = 258});
        test::add_byte_tokenizer(f);
        f.write(model());
    }

    std::string model() const { return folder_ / "model.gguf"; }
    fs::path cached(const std::string& name) const { return folder_ / "cache/minfer/models" / name; }

    // minfer in the test's folder, with a cache that is the test's own.
    test::Finished minfer(std::vector<std::string> words, const std::string& input = "") const {
        words.insert(words.begin(), test::binary());
        return test::run(words, input, {"XDG_CACHE_HOME=" + (folder_ / "cache").string()});
    }

    void fails(const std::vector<std::string>& words, int status, const std::string& message,
               const std::string& input = "") const {
        const test::Finished done = minfer(words, input);
        EXPECT_EQ(done.status, status) << done.err;
        EXPECT_THAT(done.err, AllOf(StartsWith("minfer"), HasSubstr(message)));
        EXPECT_EQ(done.out, "");
    }

    test::TemporaryFolder folder_;
};

TEST_F(RunModel, TextGoesOutAndTheReportBeside) {
    const test::Finished done = minfer({model(), "hello", "--greedy", "-n", "8", "--ignore-eos", "-t", "1"});
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_FALSE(done.out.empty());
    EXPECT_THAT(done.err, MatchesRegex("load [0-9.]+ s; prompt 5 tokens, [0-9.]+ tokens/s; generated 8 tokens, "
                                       "[0-9.]+ tokens/s\n"));
}

TEST_F(RunModel, ThePromptMayComeByStandardInput) {
    const std::vector<std::string> options = {"--greedy", "-n", "8", "--ignore-eos", "-t", "1"};
    const auto with = [&](std::vector<std::string> words) {
        words.insert(words.end(), options.begin(), options.end());
        return words;
    };
    const std::string text = minfer(with({model(), "hello"})).out;
    EXPECT_EQ(minfer(with({model()}), "hello\n").out, text);
    EXPECT_EQ(minfer(with({model()}), "hello").out, text);
    EXPECT_NE(minfer(with({model()}), "hello\n\n").out, text);
}

TEST_F(RunModel, TheSameSeedGivesTheSameText) {
    const auto run = [&](const char* seed, const char* threads) {
        return minfer({model(), "hello", "--seed", seed, "--temp", "2", "--top-k", "0", "-n", "20", "-t", threads}).out;
    };
    EXPECT_EQ(run("7", "1"), run("7", "2"));
    EXPECT_NE(run("7", "1"), run("8", "1"));
    const test::Finished random = minfer({model(), "hello", "-n", "1", "-t", "1"});
    EXPECT_THAT(random.err, HasSubstr(", seed ")) << "a run can be repeated";
}

TEST_F(RunModel, SamplingOptionsReachTheDraw) {
    using Words = std::vector<std::string>;
    const auto run = [&](Words words) {
        const Words rest = {"--seed", "3", "-n", "12", "--ignore-eos", "-t", "1"};
        words.insert(words.begin(), {model(), "hello"});
        words.insert(words.end(), rest.begin(), rest.end());
        const test::Finished done = minfer(words);
        EXPECT_EQ(done.status, 0) << done.err;
        return done.out;
    };
    const std::string only_a(12, 'a');
    EXPECT_EQ(run({"--logit-bias", "97+1000"}), only_a);
    EXPECT_NE(run({"--logit-bias", "97+1000", "--repeat-penalty", "1000000"}), only_a);
    EXPECT_NE(run({"--logit-bias", "97+50", "--presence-penalty", "100"}), only_a);
    EXPECT_EQ(run({"--logit-bias", "97+50", "--presence-penalty", "100", "--repeat-last-n", "0"}), only_a);
    EXPECT_NE(run({"--logit-bias", "97+50", "--frequency-penalty", "20"}), only_a);
    const Words dry = {"--logit-bias", "97+50", "--dry-multiplier", "100", "--dry-allowed-length", "4"};
    EXPECT_NE(run(dry), only_a);
    Words more = dry;
    more.insert(more.end(), {"--dry-sequence-breaker", "a"});
    EXPECT_EQ(run(more), only_a);

    const Words flat = {"--temp", "3", "--top-k", "0"};
    const std::string plain = run(flat);
    for (const Words& option : std::vector<Words>{{"--top-n-sigma", "0.5"},
                                                  {"--typical", "0.2"},
                                                  {"--top-p", "0.2"},
                                                  {"--min-p", "0.9"},
                                                  {"--xtc-probability", "1", "--xtc-threshold", "0"},
                                                  {"--dynatemp-range", "3"},
                                                  {"--mirostat", "2", "--mirostat-ent", "1"},
                                                  {"--samplers", "min_p"}}) {
        Words words = flat;
        words.insert(words.end(), option.begin(), option.end());
        EXPECT_NE(run(words), plain) << option[0];
    }
}

TEST_F(RunModel, GrammarsAndSchemas) {
    const auto run = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {model(), "hello"});
        words.insert(words.end(), {"--seed", "3", "--temp", "5", "-n", "60", "-t", "1"});
        const test::Finished done = minfer(words);
        EXPECT_EQ(done.status, 0) << done.err;
        return done.out;
    };
    const std::string gbnf = "root ::= \"ab\" [0-9]{3} (\"x\" | \"é\")";
    EXPECT_THAT(run({"--grammar", gbnf}), MatchesRegex("ab[0-9][0-9][0-9](x|é)")) << "and the text ends there";
    test::write_file(folder_ / "g.gbnf", gbnf);
    EXPECT_EQ(run({"--grammar-file", folder_ / "g.gbnf"}), run({"--grammar", gbnf}));
    const std::string schema =
        R"({"properties": {"n": {"type": "integer", "minimum": 5, "maximum": 7}}, "required": ["n"]})";
    const nlohmann::json value = nlohmann::json::parse(run({"--json-schema", schema}));
    EXPECT_THAT(value["n"].get<int>(), testing::AllOf(testing::Ge(5), testing::Le(7)));
    test::write_file(folder_ / "s.json", schema);
    EXPECT_EQ(run({"--json-schema", folder_ / "s.json"}), run({"-j", schema}));
    EXPECT_EQ(run({"--json-schema-file", folder_ / "s.json"}), run({"-jf", folder_ / "s.json"}));

    fails({model(), "hello", "--grammar", "root := x"}, 1, "grammar: line 1, column 6: found ':', expected '::='");
    fails({model(), "hello", "--json-schema", R"({"not": {}})"}, 1, "JSON schema: #: the keyword 'not' is not done");
    fails({model(), "hello", "--json-schema", "absent.json"}, 1, "absent.json");
    fails({model(), "hello", "--grammar", gbnf, "--json-schema", schema}, 2, "excludes");
    fails({model(), "hello", "--grammar", gbnf, "--ignore-eos"}, 2, "--ignore-eos and a grammar do not go together");
}

TEST_F(RunModel, BadWordsExitWith2) {
    fails({model(), "hello", "--frobnicate"}, 2, "--frobnicate");
    fails({model(), "hello", "world"}, 2, "");
    fails({model(), "hello", "-n", "many"}, 2, "many");
    fails({model(), "hello", "--top-p", "2"}, 2, "top-p: found 2, expected more than 0, at most 1");
    fails({model(), "hello", "--temp", "-1"}, 2, "temperature");
    fails({model(), "hello", "--mirostat", "1"}, 2, "mirostat: found 1, expected 0 (off) or 2");
    fails({model(), "hello", "--samplers", "top_k;nucleus"}, 2,
          "samplers: found 'nucleus', expected names of penalties");
    fails({model(), "hello", "--logit-bias", "7"}, 2, "logit bias: found '7', expected ID+BIAS or ID-BIAS");
    fails({model(), "hello", "--logit-bias", "258+1"}, 2, "logit bias: found token 258, expected 0 to 257");
    fails({model(), "hello", "-t", "0"}, 2, "");
    for (const char* name : {"--grammar", "--grammar-file", "--json-schema", "--json-schema-file", "--session",
                             "--template", "--samplers"})
        fails({model(), "hello", name, ""}, 2, std::string(name) + ": found an empty text");
    for (const char* seed : {"-1", "18446744073709551616", "1e3", "0x7", ""})
        fails({model(), "hello", "--seed", seed}, 2, "--seed: found '" + std::string(seed) + "', expected 0 to");
    fails({model(), "hello", "--min-p", "1.01"}, 2, "min-p: found 1.01, expected");
    fails({model(), "hello", "--stop", ""}, 2, "--stop: found an empty text");
    fails({model(), "hello", "--stop", "a", "--stop", ""}, 2, "--stop: found an empty text");
    fails({"logits", model()}, 2, "--tokens");
    fails({"perplexity", model()}, 2, "FILE");
    EXPECT_EQ(minfer({}).status, 2);
}

TEST_F(RunModel, WhatCannotBeRunExitsWith1) {
    fails({"absent.gguf", "hello"}, 1, "'absent.gguf' is no model: there is no such file");
    fails({"no-such-model", "hello"}, 1, "'no-such-model' is no model");
    fails({"hf:someone/something", "hello"}, 1, "'hf:someone/something': models by hf: are not fetched");
    fails({"ollama:llama3.2"}, 1, "models by ollama:");
    fails({"hello"}, 1, "the default, smollm2-135m-instruct-q4_1, is not in");
    fails({"hello"}, 1, "run scripts/fetch-models");
    fails({model()}, 1, "the prompt is empty");
    fails({model(), ""}, 1, "the prompt is empty");
    fails({model(), "hello, world", "--n-ctx", "8"}, 1, "the prompt of 12 tokens does not fit the context of 8 tokens");
    test::write_file(folder_ / "bad.gguf", "GGUX");
    fails({folder_ / "bad.gguf", "hello"}, 1, "bad.gguf");
}

TEST_F(RunModel, AnotherArchitecture) {
    test::TinyFile f = test::tiny_file("llama");
    f.set("general.architecture", gguf::Value::string("gemma3"));
    f.write(folder_ / "gemma.gguf");
    fails({folder_ / "gemma.gguf", "hello"}, 1, "Unsupported architecture: 'gemma3'; minfer runs llama, qwen2, qwen3");
}

TEST_F(RunModel, CachedNamesAndTheDefault) {
    fs::copy_file(model(), cached("mine.gguf"));
    const std::vector<std::string> rest = {"--greedy", "-n", "4", "-t", "1"};
    const std::string text = minfer({model(), "hi", "--greedy", "-n", "4", "-t", "1"}).out;
    EXPECT_EQ(minfer({"mine", "hi", "--greedy", "-n", "4", "-t", "1"}).out, text);
    EXPECT_EQ(minfer({"mine.gguf", "hi", "--greedy", "-n", "4", "-t", "1"}).out, text);
    fs::copy_file(model(), cached("smollm2-135m-instruct-q4_1.gguf"));
    EXPECT_EQ(minfer({"hi", "--greedy", "-n", "4", "-t", "1"}).out, text);
}

TEST_F(RunModel, AFullContextEndsTheTextAndSaysSo) {
    const test::Finished done =
        minfer({model(), "hello", "--greedy", "--ignore-eos", "-n", "0", "--n-ctx", "12", "-t", "1"});
    EXPECT_EQ(done.status, 0);
    EXPECT_THAT(done.err,
                AllOf(HasSubstr("the context is full; --n-ctx makes it larger"), HasSubstr("generated 8 tokens")));
}

TEST_F(RunModel, StopStrings) {
    const std::vector<std::string> words = {model(), "hello", "--seed", "3",  "--temp", "2",           "--top-k",
                                            "0",     "-n",    "30",     "-t", "1",      "--ignore-eos"};
    const std::string text = minfer(words).out;
    ASSERT_GT(text.size(), 12u);
    std::vector<std::string> with_stop = words;
    with_stop.insert(with_stop.end(), {"--stop", "no such text", "--stop", text.substr(6, 5)});
    EXPECT_EQ(minfer(with_stop).out, text.substr(0, text.find(text.substr(6, 5))));
}

TEST_F(RunModel, ControlCStopsInOrder) {
    const test::Finished done = test::run_interrupted(
        {test::binary(), model(), "hello", "--ignore-eos", "-n", "0", "--n-ctx", "1000000", "-t", "1", "--seed", "1"});
    EXPECT_EQ(done.status, 130);
    EXPECT_FALSE(done.out.empty());
    EXPECT_THAT(done.err, HasSubstr("generated ")) << "the report is still given";
}

TEST_F(RunModel, ControlCStopsPerplexityInOrder) {
    std::string text;
    text.resize(5'000'000, 'a');  // minutes of it
    test::write_file(folder_ / "text.txt", text);
    // The signal comes once minfer, no longer the shell that starts it, catches it: signal 2 is the second bit.
    const char* const kInterrupted =
        "\"$@\" & run=$!; "
        "caught() { grep -q '^Name:.minfer' $1 && grep -q '^SigCgt:.*[2367abef]$' $1; }; "
        "while ! caught /proc/$run/status && kill -0 $run; do sleep 0.02; done; "
        "kill -INT $run; wait $run";
    const test::Finished done = test::run({"sh", "-c", kInterrupted, "sh", test::binary(), "perplexity", model(),
                                           folder_ / "text.txt", "--json", "-t", "1"});
    EXPECT_EQ(done.status, 130);
    EXPECT_EQ(done.out, "") << "half a result is none";
    EXPECT_THAT(done.err, MatchesRegex("minfer perplexity: interrupted after [0-9]+ chunks\n"));
}

TEST_F(RunModel, ACacheThatDoesNotFitSaysItsSize) {
    // 2 GB of addresses are enough for all but the cells: 2 layers, each with a key and a value of 16 floats.
    const test::Finished done = test::run({"sh", "-c", "ulimit -v 2000000; exec \"$0\" \"$@\"", test::binary(), model(),
                                           "hello", "--n-ctx", "16777216", "-t", "1"});
    EXPECT_EQ(done.status, 1);
    EXPECT_EQ(done.out, "");
    EXPECT_EQ(done.err,
              "minfer: out of memory: the KV cache of 16777216 tokens needs 4.0 GiB; a smaller --n-ctx takes less\n");
}

TEST_F(RunModel, DumpsTheGraph) {
    const test::Finished done =
        minfer({model(), "hello", "-n", "1", "--dump-graph", (folder_ / "graph.dot").string(), "-t", "1"});
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_THAT(test::read_file(folder_ / "graph.dot"), AllOf(StartsWith("digraph"), HasSubstr("matmul")));
}

TEST_F(RunModel, NaNLogitsNameThePosition) {
    test::TinyFile f = test::tiny_file("llama", {.n_vocab = 258});
    test::add_byte_tokenizer(f);
    f.set("llama.attention.layer_norm_rms_epsilon", gguf::Value::scalar(1e38f));
    f.write(folder_ / "small.gguf");
    std::string bytes = test::read_file(folder_ / "small.gguf");
    std::memset(bytes.data() + bytes.size() - 64, 0xff, 64);  // the end of some tensor becomes NaN
    test::write_file(folder_ / "nan.gguf", bytes);
    fails({folder_ / "nan.gguf", "hello", "-t", "1"}, 1, "are NaN");
}

TEST_F(RunModel, LogitsAreRowsOfFloats) {
    test::write_file(folder_ / "ids.txt", "1 2\n3\t4  5\n");
    const std::string out = folder_ / "out.f32";
    test::Finished done = minfer({"logits", model(), "--tokens", folder_ / "ids.txt", "--out", out, "-t", "1"});
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(done.out, "");
    const std::string all = test::read_file(out);
    constexpr size_t kRow = 258 * sizeof(float);
    ASSERT_EQ(all.size(), 5 * kRow);
    done = minfer({"logits", model(), "--tokens", folder_ / "ids.txt", "--out", out, "--no-repack"});
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(test::read_file(out), all);
    done = minfer({"logits", model(), "--tokens", folder_ / "ids.txt", "--out", out, "--positions", "1,4", "--n-batch",
                   "2", "-t", "2"});
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(test::read_file(out), all.substr(kRow, kRow) + all.substr(4 * kRow, kRow));
}

TEST_F(RunModel, IdsMayComeByAPipe) {
    const std::string out = folder_ / "out.f32";
    const test::Finished done =
        minfer({"logits", model(), "--tokens", "/dev/stdin", "--out", out, "-t", "1"}, "1 2 3\n");
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(test::read_file(out).size(), 3 * 258 * sizeof(float));
}

TEST_F(RunModel, LogitsRefusesAndLeavesNoFile) {
    const std::string out = folder_ / "out.f32", ids = folder_ / "ids.txt";
    const auto logits = [&](const std::string& text, std::vector<std::string> more, int status, const char* message) {
        test::write_file(ids, text);
        std::vector<std::string> words = {"logits", model(), "--tokens", ids, "--out", out, "-t", "1"};
        words.insert(words.end(), more.begin(), more.end());
        fails(words, status, message);
        EXPECT_FALSE(fs::exists(out));
    };
    logits("", {}, 1, "no tokens");
    logits("1 two 3", {}, 1, "word 2: found 'two', expected the id of a token");
    logits("1 2.5", {}, 1, "word 2: found '2.5'");
    logits("1 99999999999999", {}, 1, "word 2");
    logits("1 258", {}, 1, "token id 258 is outside the vocabulary: expected 0 to 257");
    logits("1 -1", {}, 1, "token id -1");
    logits("1 2", {"--positions", "2"}, 2, "--positions: found 2, expected at most 1");
    logits("1 2", {"--positions", ""}, 2, "--positions: found '', expected positions counted from 0, such as 0,7,31");
    logits("1 2", {"--positions", "-1"}, 2, "--positions: found '-1', expected positions counted from 0");
    logits("1 2", {"--positions", "0,"}, 2, "--positions: found '', expected positions counted from 0");
    logits("1 2", {"--positions", "1,0"}, 2, "--positions: found 0 after 1, expected ascending positions");
}

TEST_F(RunModel, PerplexityInWordsAndInJson) {
    std::string text;
    for (int i = 0; i < 1100; ++i) text += char('a' + i * i % 23);
    test::write_file(folder_ / "text.txt", text);
    test::Finished done = minfer({"perplexity", model(), folder_ / "text.txt", "--json", "-t", "2"});
    ASSERT_EQ(done.status, 0) << done.err;
    const nlohmann::json all = nlohmann::json::parse(done.out);
    ASSERT_EQ(all["chunks"].size(), 2u);
    EXPECT_EQ(all["chunks"][1], all["perplexity"]);
    EXPECT_NEAR(std::exp(all["nll"].get<double>()), all["perplexity"].get<double>(), 1e-9);
    EXPECT_EQ(minfer({"perplexity", model(), folder_ / "text.txt", "--json", "-t", "1", "--n-batch", "33"}).out,
              done.out)
        << "every digit";
    const nlohmann::json one = nlohmann::json::parse(
        minfer({"perplexity", model(), folder_ / "text.txt", "--json", "--chunks", "1", "-t", "1"}).out);
    EXPECT_EQ(one["chunks"].size(), 1u);
    EXPECT_EQ(one["perplexity"], all["chunks"][0]);
    done = minfer({"perplexity", model(), folder_ / "text.txt", "-t", "1"});
    EXPECT_THAT(done.out,
                MatchesRegex("\\[1\\] [0-9.]+\n\\[2\\] [0-9.]+\nperplexity [0-9.]+, [0-9.]+ nats a token, 2 chunks\n"));
    test::write_file(folder_ / "short.txt", "short");
    fails({"perplexity", model(), folder_ / "short.txt"}, 1, "the text has 5 tokens");
}

}  // namespace
}  // namespace minfer
