// minfer --cnv by a pipe: a line of input is a message. The model is a few kilobytes whose tokens are bytes, so what it
// says means nothing and is the same each time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model/tiny_file.h"
#include "support/support.h"

namespace minfer {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kTemplate =
    "{% for m in messages %}{{ m.role[0] }}:{{ m.content }}\n{% endfor %}{% if mood %}({{ mood }}){% endif %}a:";

class Cnv : public testing::Test {
  protected:
    Cnv() { write_model(kTemplate); }

    void write_model(const char* chat_template) {
        test::TinyFile f = test::tiny_file("llama", {.n_vocab = 258});
        test::add_byte_tokenizer(f);
        f.set("llama.context_length", gguf::Value::scalar(uint32_t(2048)));
        f.set("tokenizer.chat_template", gguf::Value::string(chat_template));
        f.write(folder_ / "model.gguf");
    }

    // Seven tokens a reply, whatever they are.
    test::Finished talk(const std::string& input, std::vector<std::string> more = {}) const {
        std::vector<std::string> words = {test::binary(), "--cnv", folder_ / "model.gguf", "-t",      "1",
                                          "-n",           "7",     "--ignore-eos",         "--top-k", "90"};
        if (std::ranges::find(more, "--seed") == more.end()) words.insert(words.end(), {"--seed", "4"});
        words.insert(words.end(), more.begin(), more.end());
        return test::run(words, input, {"XDG_STATE_HOME=" + folder_.path().string(), "TERM=xterm"});
    }

    // The conversation that these lines lead to.
    json saved(const std::string& input, const std::vector<std::string>& more = {}) const {
        const fs::path file = folder_ / "saved.json";
        fs::remove(file);
        const test::Finished done = talk(input + "/save " + file.string() + "\n", more);
        EXPECT_EQ(done.status, 0) << done.err;
        return json::parse(test::read_file(file));
    }

    static std::vector<std::string> users(const json& conversation) {
        std::vector<std::string> out;
        for (const json& m : conversation["messages"])
            if (m["role"] == "user") out.push_back(m["content"]);
        return out;
    }
    static std::string reply(const json& conversation, size_t turn) {
        size_t n = 0;
        for (const json& m : conversation["messages"])
            if (m["role"] == "assistant" && n++ == turn) return m["content"];
        return "(none)";
    }

    test::TemporaryFolder folder_;
};

TEST_F(Cnv, ALineIsATurnAndTheReplyGoesOut) {
    const test::Finished done = talk("hello\n\nand more");
    EXPECT_EQ(done.status, 0) << done.err;
    const json conversation = saved("hello\nand more\n");
    EXPECT_THAT(users(conversation), testing::ElementsAre("hello", "and more"));
    EXPECT_EQ(done.out, reply(conversation, 0) + "\n" + reply(conversation, 1) + "\n");
    EXPECT_THAT(done.out, Not(HasSubstr("\x1b")));
    EXPECT_THAT(done.err, AllOf(HasSubstr("minfer: stopped after 7 tokens"), Not(HasSubstr("\x1b"))));
    EXPECT_FALSE(fs::exists(folder_ / "minfer")) << "the history is of terminals alone";
}

TEST_F(Cnv, ComputesWhatIsNew) {
    const test::Finished done = talk("hello\nmore\n/regen\n", {"--stats"});
    // u:hello\na: is 10 tokens; the reply's last token went through nothing yet; \nu:more\na: is 10.
    EXPECT_THAT(done.err, HasSubstr("prompt 10 tokens, 10 of them computed"));
    EXPECT_THAT(done.err, HasSubstr("reply 7 tokens"));
    EXPECT_THAT(done.err, HasSubstr("context 16 of 2048"));
    EXPECT_THAT(done.err, testing::ContainsRegex("prompt [0-9]+ tokens, 1 of them computed"));
}

TEST_F(Cnv, IsTheOneShotsReply) {
    const test::Finished one = test::run({test::binary(), folder_ / "model.gguf", "hello", "-t", "1", "-n", "7",
                                          "--ignore-eos", "--seed", "4", "--top-k", "90"});
    EXPECT_EQ(talk("hello\n").out, one.out + "\n");
    EXPECT_EQ(talk("more\n", {"hello"}).out.substr(0, one.out.size() + 1), one.out + "\n")
        << "PROMPT is the first message";
    EXPECT_EQ(talk("", {"hello", "-st"}).out, one.out + "\n");
    EXPECT_EQ(talk("hello\nnot this\n", {"-st"}).out, one.out + "\n");
    EXPECT_NE(talk("hello\n", {"--system", "be"}).out, one.out + "\n");
}

TEST_F(Cnv, MessagesOfSeveralLines) {
    EXPECT_THAT(users(saved("\"\"\"one\n\n/two\"\"\"\n\"\"\"\nthree\n\"\"\"\nfour\\\nfive\n\"\"\"/six\"\"\"\n")),
                testing::ElementsAre("one\n\n/two", "three", "four\nfive", "/six"));
    EXPECT_THAT(users(saved("one\ntwo\\\n", {"-mli"})), testing::ElementsAre("one\ntwo"));
    EXPECT_NE(talk("\"\"\"never closed").out, "");
    EXPECT_THAT(users(saved("caf\xc3\xa9 \xff!\r\n")), testing::ElementsAre("caf\u00e9 \ufffd!"));
}

TEST_F(Cnv, TurnsAreTakenBackAndDrawnAnew) {
    EXPECT_THAT(users(saved("a\nb\n/undo\nc\n")), testing::ElementsAre("a", "c"));
    EXPECT_THAT(users(saved("a\nb\n/clear\nc\n")), testing::ElementsAre("c"));
    const json once = saved("a\nb\n"), again = saved("a\nb\n/regen\n"),
               greedy = saved("a\nb\n/set temp 0\n/regen\n/regen\n");
    EXPECT_EQ(reply(once, 0), reply(again, 0));
    EXPECT_NE(reply(once, 1), reply(again, 1));
    EXPECT_EQ(users(again), users(once));
    EXPECT_EQ(reply(greedy, 1), reply(saved("a\n/set greedy on\nb\n"), 1));
}

TEST_F(Cnv, TheSystemMessage) {
    const json conversation = saved("/system be brief\na\n");
    EXPECT_EQ(conversation["messages"][0], (json{{"role", "system"}, {"content", "be brief"}}));
    EXPECT_EQ(conversation, saved("a\n", {"--system", "be brief"}));
    EXPECT_EQ(saved("/system be brief\n/system\na\n"), saved("a\n"));
}

TEST_F(Cnv, SavedConversationsGoOn) {
    const fs::path file = folder_ / "talk.json";
    const std::string load = "/load " + file.string() + "\n";
    talk("a\nb\n/save " + file.string() + "\n", {"--temp", "0"});
    EXPECT_EQ(saved(load + "c\n", {"--temp", "0"}), saved("a\nb\nc\n", {"--temp", "0"}));
    test::write_file(file, "[1]");
    test::Finished done = talk(load + "c\n");
    EXPECT_EQ(done.status, 1);
    EXPECT_THAT(done.err, HasSubstr("talk.json: message 0"));
    EXPECT_NE(done.out, "") << "the conversation goes on";
    test::write_file(file, "{");
    EXPECT_THAT(talk(load).err, HasSubstr("found no JSON"));
    EXPECT_THAT(talk("/load absent.json\n").err, HasSubstr("absent.json"));
    EXPECT_THAT(talk("/save /no/such/folder/x\n").err, HasSubstr("/no/such/folder"));
}

TEST_F(Cnv, SettingsChangeOnTheWay) {
    const json conversation = saved("a\n/set n-predict 3\nb\n");
    EXPECT_NE(reply(conversation, 0), reply(conversation, 1));
    EXPECT_THAT(talk("/set n-predict 3\na\n").err, HasSubstr("stopped after 3 tokens"));
    EXPECT_EQ(reply(saved("/set seed 9\na\n"), 0), reply(saved("a\n", {"--seed", "9"}), 0));
    EXPECT_EQ(reply(saved("/set template-arg mood=mild\na\n"), 0),
              reply(saved("a\n", {"--template-arg", "mood=mild"}), 0));
    EXPECT_NE(reply(saved("/set template-arg mood=mild\na\n"), 0), reply(saved("a\n"), 0));
    EXPECT_THAT(talk("/set stats on\na\n").err, HasSubstr("of them computed"));
    const std::string shown = talk("/set top-k 17\n/show\n").out;
    EXPECT_THAT(shown, AllOf(HasSubstr("top-k = 17\n"), HasSubstr("seed = 4\n"), HasSubstr("greedy = off\n"),
                             HasSubstr("n-predict = 7\n"), HasSubstr("context  0 of 2048 tokens")));
}

TEST_F(Cnv, SettingsAreTakenBack) {
    const std::string plain = talk("/set ignore-eos off\na\n").out;
    const auto after = [&](const std::string& lines) { return talk("/set ignore-eos off\n" + lines + "a\n"); };
    EXPECT_EQ(after("/set grammar root ::= \"yes\"\n").out, "yes\n");
    EXPECT_EQ(after("/set grammar root ::= \"yes\"\n/set grammar\n").out, plain);
    EXPECT_EQ(after("/set json-schema {\"const\": 3}\n/set json-schema\n/set grammar root ::= \"no\"\n").out, "no\n");
    // One at a time, whichever option it came by.
    const std::string yes = folder_ / "yes.gbnf", three = folder_ / "three.json";
    test::write_file(yes, "root ::= \"yes\"");
    test::write_file(three, "{\"const\": 3}");
    EXPECT_EQ(after("/set grammar-file " + yes + "\n/set grammar root ::= \"no\"\n").out, "no\n");
    EXPECT_EQ(after("/set grammar-file " + yes + "\n/set grammar\n").out, plain);
    EXPECT_EQ(after("/set json-schema-file " + three + "\n/set json-schema {\"const\": 4}\n").out, "4\n");
    EXPECT_EQ(after("/set json-schema {\"const\": 4}\n/set json-schema-file " + three + "\n").out, "3\n");
    EXPECT_EQ(after("/set json-schema-file " + three + "\n/set grammar-file " + yes + "\n").out, "yes\n");
    EXPECT_EQ(after("/set logit-bias 97-inf\n/set logit-bias\n").out, plain);
    EXPECT_EQ(after("/set stop " + plain.substr(0, 1) + "\n").out, "\n");
    EXPECT_EQ(after("/set stop " + plain.substr(0, 1) + "\n/set stop\n").out, plain);
    EXPECT_EQ(after("/set template-arg mood=mild\n/set template-arg\n").out, plain);
}

TEST_F(Cnv, WhatIsWrongIsToldAndTheConversationGoesOn) {
    const auto wrong = [&](const std::string& line, const char* message) {
        const test::Finished done = talk(line + "\nhello\n");
        EXPECT_THAT(done.err, HasSubstr(message)) << line;
        EXPECT_EQ(done.out, talk("hello\n").out) << line;
        EXPECT_EQ(done.status, 1) << "a script hears of it";
    };
    wrong("/frobnicate", "there is no command /frobnicate; /help lists them");
    wrong("/set", "/set: expected NAME VALUE");
    wrong("/set frobs 3", "/set: there is no option 'frobs'");
    wrong("/set threads 3", "/set: there is no option 'threads'");
    wrong("/set temp hot", "/set temp: ");
    wrong("/set top-p 7", "top-p: found 7");
    wrong("/set temp", "/set: expected NAME VALUE");
    wrong("/set logit-bias 258-inf", "logit bias: found token 258, expected 0 to 257");
    wrong("/set ignore-eos off\n/set grammar root ::= nowhere\n/set ignore-eos on",
          "grammar: line 1, column 10: found no rule 'nowhere'");
    wrong("/set ignore-eos off\n/set json-schema {\n/set ignore-eos on", "JSON schema: text: found");
    wrong("/set grammar root ::= \"a\"", "--ignore-eos and a grammar do not go together");
    wrong("/set template-arg mood", "--template-arg: found 'mood', expected NAME=VALUE");
    wrong("/undo", "there is no turn to take back");
    wrong("/regen", "there is no reply to make anew");
    wrong("/exit now", "/exit takes nothing");
    wrong("/save", "/save: expected a file");
    wrong("/show me", "expected thinking or nothing");
    EXPECT_EQ(talk("hello\n", {"--frobnicate"}).status, 2);
    EXPECT_EQ(test::run({test::binary(), folder_ / "model.gguf", "a", "--stats"}).status, 2) << "needs --cnv";
}

TEST_F(Cnv, HelpNamesEveryCommand) {
    const std::string help = talk("/help\n").out;
    for (const char* name : {"/help", "/exit", "/quit", "/clear", "/regen", "/undo", "/system TEXT", "/save FILE",
                             "/load FILE", "/set NAME VALUE", "/show"})
        EXPECT_THAT(help, HasSubstr(name));
    for (const char* name : {"/exit", "/quit"}) EXPECT_EQ(talk(std::string(name) + "\nhello\n").out, "") << name;
}

TEST_F(Cnv, ThoughtsAreDimmedOrHidden) {
    write_model("{{ messages[-1].content }}<think>\n");
    const std::string plain = talk("hello\n").out;
    EXPECT_EQ(talk("hello\n", {"--hide-thinking"}).out, "\n");
    EXPECT_EQ(talk("hello\n/set hide-thinking on\nmore\n").out, plain + "\n");
    const std::string dimmed = talk("hello\n", {"--color", "on"}).out;
    EXPECT_THAT(dimmed, testing::StartsWith("\x1b[2m"));
    EXPECT_NE(plain, "\n");
    const std::string unfolded = talk("hello\n/show thinking\n", {"--hide-thinking"}).out;
    EXPECT_THAT(unfolded, testing::StartsWith("\n"));
    EXPECT_GT(unfolded.size(), 2u);
    write_model("{{ messages[-1].content }}<think></think>");
    EXPECT_EQ(talk("hello\n", {"--hide-thinking"}).out, talk("hello\n").out);
    EXPECT_THAT(talk("hello\n/show thinking\n").out, HasSubstr("came without thinking"));
}

TEST_F(Cnv, AFullContextDropsTheOldestTurnsAndSaysSo) {
    std::string lines;
    for (int i = 0; i < 12; ++i) lines += "message\n";
    const test::Finished done = talk(lines, {"--n-ctx", "80"});
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_THAT(done.err,
                testing::ContainsRegex("minfer: the context is full: the oldest [0-9]+ turns are no longer seen"));
    EXPECT_THAT(
        talk(std::string(100, 'x') + "\n", {"--n-ctx", "80"}).err,
        HasSubstr("minfer: the prompt of 105 tokens does not fit the context of 80 tokens; --n-ctx makes it larger"));
}

TEST_F(Cnv, SessionsGoOnAsIfTheyHadNeverStopped) {
    const std::string file = folder_ / "session";
    const std::vector<std::string> lines = {"hello\n", "more\n/regen\n", "/system be brief\nand\n", "/undo\nlast\n"};
    std::string all;
    for (const std::string& line : lines) all += line;
    const test::Finished whole = talk(all, {"--stats"});
    const auto computed = [](const std::string& err) {
        std::string out;
        std::istringstream in(err);
        for (std::string line; std::getline(in, line);)
            if (const size_t at = line.find(" computed"); at != std::string::npos) out += line.substr(0, at) + "\n";
        return out;
    };
    std::string out, err;
    for (const std::string& line : lines) {
        // Without --seed from the second time on: it is the session's.
        const test::Finished part = talk(line, {"--stats", "--session", file});
        EXPECT_EQ(part.status, 0) << part.err;
        out += part.out;
        err += computed(part.err);
    }
    EXPECT_EQ(out, whole.out);
    EXPECT_EQ(err, computed(whole.err)) << "resuming costs nothing";
    EXPECT_THAT(talk("", {"--session", file}).err, HasSubstr("session: 3 turns as they were left"));
}

TEST_F(Cnv, SessionsKeepTheirSeed) {
    const std::string file = folder_ / "session";
    const auto run = [&](const std::string& input, std::vector<std::string> more) {
        std::vector<std::string> words = {test::binary(), "--cnv", folder_ / "model.gguf", "-t",      "1",
                                          "-n",           "7",     "--ignore-eos",         "--top-k", "90",
                                          "--session",    file};
        words.insert(words.end(), more.begin(), more.end());
        return test::run(words, input).out;
    };
    std::string out = run("a\n", {"--seed", "4"});
    out += run("b\n", {});
    EXPECT_EQ(out, talk("a\nb\n").out);
}

TEST_F(Cnv, OneShotSessions) {
    const std::string file = folder_ / "session";
    std::string out;
    for (const char* prompt : {"hello", "more"}) {
        const test::Finished done = test::run({test::binary(), folder_ / "model.gguf", prompt, "-t", "1", "-n", "7",
                                               "--ignore-eos", "--seed", "4", "--top-k", "90", "--session", file});
        EXPECT_EQ(done.status, 0) << done.err;
        out += done.out + "\n";
        const bool told = done.err.find(" of them computed") != std::string::npos;
        EXPECT_EQ(told, prompt == std::string("more")) << done.err;
    }
    EXPECT_EQ(out, talk("hello\nmore\n").out);
    EXPECT_EQ(talk("third\n", {"--session", file}).out, talk("hello\nmore\nthird\n").out.substr(out.size()));
}

TEST_F(Cnv, SessionsOfTextThatIsNoUtf8) {
    const std::string file = folder_ / "session";
    const test::Finished done = test::run({test::binary(), folder_ / "model.gguf", "caf\xe9", "--system", "\xff", "-t",
                                           "1", "-n", "7", "--session", file});
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(users(saved("", {"--session", file})), std::vector<std::string>{"caf\xEF\xBF\xBD"});
}

TEST_F(Cnv, DamagedSessions) {
    const std::string file = folder_ / "session";
    const std::string expected = talk("hello\nmore\n").out;
    const std::string first = talk("hello\n", {"--session", file}).out;
    const std::string bytes = test::read_file(file);
    const auto with = [&](const std::string& changed) {
        test::write_file(file, changed);
        return talk("more\n", {"--session", file});
    };
    test::Finished done = with(bytes.substr(0, bytes.size() - 5));
    EXPECT_EQ(done.status, 0);
    EXPECT_EQ(first + done.out, expected) << "from the text";
    EXPECT_THAT(done.err,
                testing::ContainsRegex("session: it has [0-9]+ bytes, expected [0-9]+; the text of 1 turn is whole, "
                                       "and is computed anew"));
    std::string flipped = bytes;
    flipped.back() = char(flipped.back() ^ 4);
    done = with(flipped);
    EXPECT_EQ(first + done.out, expected);
    EXPECT_THAT(done.err, HasSubstr("its keys and values are damaged"));
    EXPECT_THAT(talk("", {"--session", file}).err, HasSubstr("2 turns as they were left")) << "it is whole again";
    done = with("no session at all");
    EXPECT_EQ(done.status, 1);
    EXPECT_THAT(done.err, HasSubstr("session: start: found other bytes"));
    EXPECT_EQ(test::read_file(file), "no session at all") << "left as it was";
    flipped = bytes;
    flipped[320] = char(flipped[320] ^ 1);
    done = with(flipped);
    EXPECT_EQ(done.status, 1);
    EXPECT_THAT(done.err, HasSubstr("session: text: found SHA-256"));
    test::write_file(file, bytes);
    EXPECT_THAT(talk("", {"--session", file, "--cache-type", "f16"}).err,
                HasSubstr("its cells are f32, those of this run f16; the text of 1 turn is whole"));
    write_model("{{ messages[-1].content }}");
    EXPECT_THAT(talk("", {"--session", file}).err, HasSubstr("it is of another model"));
    done = talk("hello\n", {"--session", "/no/such/folder/x"});
    EXPECT_EQ(done.status, 1);
    EXPECT_EQ(done.out, "") << "told before a reply that could not be kept";
}

// As another process would: what this one had not seen stays.
TEST_F(Cnv, SessionsThatChangeMeanwhileAreLeftAlone) {
    const std::string file = folder_ / "session";
    talk("one\n", {"--session", file});
    const test::Finished done = talk("hello\n/save " + file + "\nmore\n", {"--session", file});
    EXPECT_EQ(done.status, 1);
    EXPECT_THAT(done.err,
                HasSubstr("session: it has changed since this conversation was last read from it or written"));
    EXPECT_EQ(json::parse(test::read_file(file))["messages"].size(), 4u);
    fs::remove(file);
    EXPECT_EQ(talk("hello\n", {"--session", file}).status, 0);
}

TEST_F(Cnv, CacheTypes) {
    const test::Finished refused = talk("hello\n", {"--cache-type", "q8_0"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, HasSubstr("over q8_0 cells in heads of 8 values; asked: cpu"));
    EXPECT_EQ(talk("hello\n", {"--cache-type", "f16"}).status, 0);
    EXPECT_EQ(talk("hello\n", {"--cache-type", "q4_0"}).status, 2);
    const auto with = [&](const char* environment, std::vector<std::string> more) {
        std::vector<std::string> words = {test::binary(), folder_ / "model.gguf", "hello", "-n", "1", "-t", "1"};
        words.insert(words.end(), more.begin(), more.end());
        return test::run(words, "", {std::string("MINFER_CACHE_TYPE=") + environment});
    };
    EXPECT_THAT(with("q8_0", {}).err, HasSubstr("over q8_0 cells"));
    EXPECT_EQ(with("q8_0", {"--cache-type", "f16"}).status, 0) << "the flag goes before";
    EXPECT_EQ(with("q9", {}).status, 2);
    EXPECT_EQ(with("q9", {"--cache-type", "f32"}).status, 0);
}

TEST_F(Cnv, ControlCStopsTheReply) {
    const std::vector<std::string> words = {test::binary(), "--cnv", folder_ / "model.gguf", "-t",      "1",
                                            "-n",           "0",     "--ignore-eos",         "--n-ctx", "1000000"};
    const fs::path file = folder_ / "saved.json";
    const test::Finished done = test::run_interrupted(words, "hello\n/save " + file.string() + "\n");
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_GT(reply(json::parse(test::read_file(file)), 0).size(), 0u) << "what came of it stays";
    std::vector<std::string> single = words;
    single.push_back("-st");
    EXPECT_EQ(test::run_interrupted(single, "hello\n").status, 130);
}

}  // namespace
}  // namespace minfer
