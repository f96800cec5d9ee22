// minfer info against gguf_digest.py, which reads GGUF files on its own, and by what it prints of the odd ones.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "gguf/bytes.h"
#include "gguf/writer.h"
#include "support/support.h"

namespace minfer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

test::Finished info(const std::vector<std::string>& words) {
    std::vector<std::string> all = {test::binary().string(), "info"};
    all.insert(all.end(), words.begin(), words.end());
    return test::run(all);
}

void expect_the_digest(const std::filesystem::path& path) {
    const auto digest = test::run(
        {test::python().string(), (test::source_dir() / "tests/fixtures/gguf_digest.py").string(), path.string()});
    ASSERT_EQ(digest.status, 0) << digest.err;
    const auto shown = info({path.string(), "--json"});
    ASSERT_EQ(shown.status, 0) << shown.err;
    const Json expected = Json::parse(digest.out), found = Json::parse(shown.out);
    ASSERT_EQ(found["metadata"].size(), expected["metadata"].size());
    for (const auto& [key, value] : expected["metadata"].items()) {
        const Json& mine = found["metadata"][key];
        EXPECT_EQ(mine["type"], value["type"]) << key;
        if (value.contains("value")) {
            EXPECT_EQ(mine["value"], value["value"]) << key;
        }
        if (value.contains("count")) {
            EXPECT_EQ(mine["count"], value["count"]) << key;
        }
    }
    EXPECT_EQ(found["n_tensors"], expected["tensors"].size());
    ASSERT_EQ(found["tensors"].size(), expected["tensors"].size());
    uint64_t n_parameters = 0, bytes = 0;
    for (const Json& mine : found["tensors"]) {
        const Json& tensor = expected["tensors"][mine["name"]];
        EXPECT_EQ(mine["shape"], tensor["ne"]) << mine["name"];
        EXPECT_EQ(mine["bytes"], tensor["bytes"]) << mine["name"];
        EXPECT_STRCASEEQ(mine["type"].get<std::string>().c_str(), tensor["type"].get<std::string>().c_str());
        uint64_t n = 1;
        for (const uint64_t extent : tensor["ne"]) n *= extent;
        n_parameters += n;
        bytes += tensor["bytes"].get<uint64_t>();
    }
    EXPECT_EQ(found["n_parameters"], n_parameters);
    EXPECT_DOUBLE_EQ(found["bits_per_weight"].get<double>(), 8.0 * double(bytes) / double(n_parameters));
    EXPECT_EQ(found["file_size"], std::filesystem::file_size(path));
}

TEST(Info, JsonOfRealModels) {
    MINFER_SKIP_WITHOUT(test::python());
    for (const char* name : {"smollm2-135m-instruct-q4_1.gguf", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"}) {
        MINFER_SKIP_WITHOUT(test::models_dir() / name);
        expect_the_digest(test::models_dir() / name);
    }
}

class InfoOfWritten : public ::testing::Test {
  protected:
    void SetUp() override {
        std::vector<std::string> words;
        for (int i = 0; i < 17; ++i) words.push_back(fmt::format("w{}", i));
        const std::vector<uint64_t> few = {1, UINT64_MAX};
        gguf::Writer out(path_);
        out.set("general.architecture", gguf::Value::string("no-such-architecture"));
        out.set("evil", gguf::Value::string("\x1b[2J\n\xc2\x9b" + std::string(300, 'x')));
        out.set("bytes", gguf::Value::string("a\xff"
                                             "b"));
        out.set("nan", gguf::Value::scalar(std::numeric_limits<float>::quiet_NaN()));
        out.set("words", gguf::Value::strings(words));
        out.set("few", gguf::Value::array(std::span<const uint64_t>(few)));
        out.add_tensor({.name = "a\x1b", .ne = {64, 2, 1, 1}, .type = gguf::TensorType::MXFP4});
        out.add_tensor({.name = "norm", .ne = {7, 1, 1, 1}});
        out.begin();
        out.begin_tensor("a\x1b");
        out.write(std::vector<std::byte>(68));
        out.begin_tensor("norm");
        out.write(std::vector<std::byte>(28));
        out.commit();
    }
    test::TemporaryFolder folder_;
    std::string path_ = (folder_ / "m.gguf").string();
};

TEST_F(InfoOfWritten, TextIsCutAndCannotCommandATerminal) {
    const std::string out = info({path_}).out;
    EXPECT_THAT(out, HasSubstr("no-such-architecture"));
    EXPECT_THAT(out, HasSubstr("\\x1b[2J\\n\\xc2\\x9bxxx"));
    EXPECT_THAT(out, HasSubstr("x ... 207 bytes more\n"));
    EXPECT_THAT(out, HasSubstr("[\"w0\", \"w1\", \"w2\", \"w3\", \"w4\", \"w5\", ... 11 more]\n"));
    EXPECT_THAT(out, HasSubstr("a\\x1b   64 x 2  mxfp4     68"));
    EXPECT_THAT(out, HasSubstr("norm    7       f32       28"));
    EXPECT_THAT(out, Not(HasSubstr("\x1b")));
    const std::string full = info({path_, "--full"}).out;
    EXPECT_THAT(full, HasSubstr(std::string(300, 'x') + "\n"));
    EXPECT_THAT(full, HasSubstr("\"w15\", \"w16\"]\n"));
}

TEST_F(InfoOfWritten, JsonElidesLongArraysUnlessFull) {
    const Json json = Json::parse(info({"--json", path_}).out);
    EXPECT_EQ(json["architecture"], "no-such-architecture");
    EXPECT_FALSE(json["metadata"]["words"].contains("values"));
    EXPECT_EQ(json["metadata"]["words"]["count"], 17);
    EXPECT_EQ(json["metadata"]["few"]["values"][1], UINT64_MAX);
    EXPECT_EQ(json["metadata"]["nan"]["value"], "NaN");
    EXPECT_EQ(json["metadata"]["bytes"]["value"],
              "a\xef\xbf\xbd"
              "b");
    EXPECT_EQ(json["tensors"][0]["type"], "mxfp4");
    const Json full = Json::parse(info({"--json", "--full", path_}).out);
    EXPECT_EQ(full["metadata"]["words"]["values"][16], "w16");
}

TEST(Info, SaysWhatIsWrong) {
    const test::TemporaryFolder folder;
    test::write_file(folder / "m.gguf", "GGUF but no more");
    const auto bad = info({(folder / "m.gguf").string()});
    EXPECT_EQ(bad.status, 1);
    EXPECT_THAT(bad.err, ::testing::StartsWith("minfer info: " + (folder / "m.gguf").string() + ": version: found "));
    EXPECT_EQ(info({(folder / "none.gguf").string()}).status, 1);
    EXPECT_THAT(info({(folder / "\x1b[2J").string()}).err, HasSubstr("/\\x1b[2J: cannot open"));
    EXPECT_EQ(info({}).status, 2);
    EXPECT_EQ(info({"x.gguf", "--fall"}).status, 2);
    EXPECT_EQ(info({"--help"}).status, 0);
}

TEST(Info, HasNoAdviceOnMemoryThatItCannotFollow) {
    const test::TemporaryFolder folder;
    constexpr uint64_t kLength = uint64_t(1) << 29;  // a string of zeros, most of it a hole in the file
    test::write_file(folder / "m.gguf", test::Bytes().start(0, 1).key("long", 8).u64(kLength).text());
    std::filesystem::resize_file(folder / "m.gguf", kLength + 100);
    const auto done = test::run({"bash", "-c", "ulimit -v 250000 && exec \"$@\"", "-", test::binary().string(), "info",
                                 (folder / "m.gguf").string()});
    EXPECT_EQ(done.status, 1);
    EXPECT_EQ(done.err, "minfer info: out of memory\n");
}

}  // namespace
}  // namespace minfer
