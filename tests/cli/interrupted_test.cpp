// What a signal leaves behind: what was there or what was to come, never some of each, and nothing else.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>

#include <numeric>

#include "gguf/reader.h"
#include "gguf/split_name.h"
#include "gguf/writer.h"
#include "support/support.h"

namespace minfer {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

// Eight matrices of 64 KiB, in f32.
void write_model(const std::string& path) {
    gguf::Writer out(path);
    out.set("general.architecture", gguf::Value::string("test"));
    for (int i = 0; i < 8; ++i) out.add_tensor({.name = fmt::format("t{}.weight", i), .ne = {256, 64, 1, 1}});
    out.begin();
    std::vector<float> values(256 * 64);
    std::iota(values.begin(), values.end(), 1.0f);
    for (int i = 0; i < 8; ++i) {
        out.begin_tensor(fmt::format("t{}.weight", i));
        out.write(std::as_bytes(std::span(values)));
    }
    out.commit();
}

class Interrupted : public ::testing::Test {
  protected:
    void SetUp() override { write_model(path("in.gguf")); }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    test::Finished minfer(std::vector<std::string> words, const std::vector<std::string>& environment = {}) const {
        words.insert(words.begin(), test::binary().string());
        return test::run(words, "", environment);
    }
    static std::vector<std::string> signal_after(const std::string& function, int number) {
        return {std::string("LD_PRELOAD=") + MINFER_UNTIMELY_SIGNAL, "SIGNAL_AFTER=" + function,
                fmt::format("SIGNAL={}", number)};
    }
    std::vector<std::string> files(const std::string& folder) const { return test::names_in(path(folder)); }
    test::TemporaryFolder folder_;
};

// The parts that stand in `folder` by whether the run of `--override-kv run=int:2` wrote them.
std::vector<bool> of_second_run(const std::string& folder) {
    std::vector<bool> parts;
    for (uint32_t i = 0; i < 4; ++i)
        parts.push_back(gguf::Gguf::open_part(gguf::split_name(folder + "/out", i, 4)).get<uint32_t>("run") == 2);
    return parts;
}

TEST_F(Interrupted, PartsAreReplacedTogetherOrNotAtAll) {
    const auto quantize = [&](const std::string& run, const std::vector<std::string>& environment = {}) {
        return minfer({"quantize", path("in.gguf"), path("out/out.gguf"), "--type", "q8_0", "--pure", "--override-kv",
                       "run=int:" + run, "--split-max-size", "40K", "-t", "2"},
                      environment);
    };
    const std::vector<bool> all_old(4, false), all_new(4, true);
    for (const auto& [function, expected] :
         {std::pair{"pwrite", all_old}, {"fsync", all_old}, {"linkat", all_new}, {"rename", all_new}}) {
        for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
            fs::create_directory(path("out"));
            ASSERT_EQ(quantize("1").status, 0);
            ASSERT_EQ(of_second_run(path("out")), all_old);
            EXPECT_EQ(quantize("2", signal_after(function, number)).status, 128 + number) << function;
            EXPECT_EQ(of_second_run(path("out")), expected) << function << " " << number;
            EXPECT_EQ(files("out").size(), 4u) << function << " " << number;
            fs::remove_all(path("out"));
        }
    }
}

TEST_F(Interrupted, NothingIsLeftWhereFilesNeedNames) {
    fs::create_directory(path("out"));
    for (const int number : {SIGTERM, SIGINT, SIGHUP})
        for (const char* function : {"pwrite", "fsync"}) {
            auto environment = signal_after(function, number);
            environment.push_back("NO_NAMELESS_FILES=1");
            const auto merged = minfer({"quantize", path("in.gguf"), path("out/q.gguf"), "--type", "q8_0", "--pure",
                                        "--split-max-size", "40K", "-t", "2"},
                                       environment);
            EXPECT_EQ(merged.status, 128 + number);
            EXPECT_THAT(files("out"), ElementsAre()) << function << " " << number;
        }
}

// As under nohup.
TEST_F(Interrupted, ASignalThatIsIgnoredStaysIgnored) {
    for (const char* nameless : {"", "NO_NAMELESS_FILES=1"}) {
        auto environment = signal_after("pwrite", SIGHUP);
        environment.push_back(nameless);
        fs::create_directory(path("out"));
        const auto done = test::run({"bash", "-c", "trap '' HUP && exec \"$@\"", "-", test::binary().string(),
                                     "quantize", path("in.gguf"), path("out/q.gguf"), "--type", "q8_0", "--pure"},
                                    "", environment);
        EXPECT_EQ(done.status, 0) << done.err;
        EXPECT_THAT(files("out"), ElementsAre("q.gguf"));
        fs::remove_all(path("out"));
    }
}

TEST_F(Interrupted, FoldersThatSplitMadeGoAgain) {
    for (const int number : {SIGTERM, SIGINT, SIGHUP})
        for (const bool nameless : {true, false}) {
            auto environment = signal_after("pwrite", number);
            if (!nameless) environment.push_back("NO_NAMELESS_FILES=1");
            const auto split =
                minfer({"split", path("in.gguf"), path("new/folder/x"), "--max-size", "100K"}, environment);
            EXPECT_EQ(split.status, 128 + number);
            EXPECT_FALSE(fs::exists(path("new"))) << number;
        }
    EXPECT_EQ(minfer({"split", path("in.gguf"), path("new/folder/x"), "--max-size", "10"}).status, 1);
    EXPECT_FALSE(fs::exists(path("new")));
    // A folder that was there stays.
    fs::create_directories(path("there/too"));
    EXPECT_EQ(minfer({"split", path("in.gguf"), path("there/too/x"), "--max-size", "10"}).status, 1);
    EXPECT_THAT(files("there"), ElementsAre("too"));
    EXPECT_THAT(files("there/too"), ElementsAre());
}

}  // namespace
}  // namespace minfer
