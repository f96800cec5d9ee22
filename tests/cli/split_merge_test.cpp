// minfer split and minfer merge, as run by a user: what they write, what they refuse and in which words, and what is
// left when they are killed, the disk is full, or it fails.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <random>

#include "gguf/split_name.h"
#include "gguf/writer.h"
#include "support/support.h"

extern char** environ;

namespace minfer {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;

// A model of `n` f32 tensors of 64 KiB each, and a few more bytes.
void write_model(const std::string& path, int n) {
    std::mt19937 random(1);
    gguf::Writer out(path);
    out.set("general.architecture", gguf::Value::string("test"));
    out.set("general.alignment", gguf::Value::scalar(uint32_t(64)));
    for (int i = 0; i < n; ++i) out.add_tensor({.name = fmt::format("t{}", i), .ne = {128, 128, 1, 1}});
    out.add_tensor({.name = "small", .ne = {3, 1, 1, 1}, .n_dims = 2});
    out.begin();
    std::vector<uint32_t> values(128 * 128);
    for (int i = 0; i < n; ++i) {
        for (uint32_t& v : values) v = uint32_t(random());
        out.begin_tensor(fmt::format("t{}", i));
        out.write(std::as_bytes(std::span(values)));
    }
    out.begin_tensor("small");
    out.write(std::as_bytes(std::span(values)).first(12));
    out.commit();
}

class SplitMerge : public ::testing::Test {
  protected:
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    test::Finished minfer(std::vector<std::string> words, const std::vector<std::string>& environment = {}) const {
        words.insert(words.begin(), test::binary().string());
        return test::run(words, "", environment);
    }
    test::TemporaryFolder folder_;
};

TEST_F(SplitMerge, ThereAndBackAgain) {
    write_model(path("m.gguf"), 10);
    const auto split = minfer({"split", path("m.gguf"), path("new/parts"), "--max-size", "256K"});
    ASSERT_EQ(split.status, 0) << split.err;
    EXPECT_THAT(split.out, HasSubstr("m-00001-of-00003.gguf: 4 tensors, 256.4 KiB (262528 bytes)\n"));
    EXPECT_THAT(split.err, MatchesRegex("split: 640.0 KiB in [^\n]*\n"));  // a plain line: the output is no terminal
    EXPECT_THAT(test::names_in(path("new/parts")),
                ElementsAre("m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"));
    const auto merge = minfer({"merge", path("again.gguf"), path("new/parts/m-00001-of-00003.gguf")});
    ASSERT_EQ(merge.status, 0) << merge.err;
    EXPECT_THAT(merge.out, HasSubstr("again.gguf: 11 tensors, "));
    EXPECT_EQ(test::read_file(path("again.gguf")), test::read_file(path("m.gguf")));
}

TEST_F(SplitMerge, LimitsOnTensorsAndStems) {
    write_model(path("m.gguf"), 4);
    ASSERT_EQ(minfer({"split", path("m.gguf"), path("a"), "--split-max-tensors", "2", "--stem", "x"}).status, 0);
    EXPECT_THAT(test::names_in(path("a")),
                ElementsAre("x-00001-of-00003.gguf", "x-00002-of-00003.gguf", "x-00003-of-00003.gguf"));
    ASSERT_EQ(minfer({"split", path("m.gguf"), path("b"), "--split-max-tensors", "9", "--max-size", "128K"}).status, 0);
    EXPECT_THAT(test::names_in(path("b")), SizeIs(3));
    fs::rename(path("m.gguf"), path(".gguf"));
    ASSERT_EQ(minfer({"split", path(".gguf"), path("c"), "--max-size", "128K"}).status, 0);
    EXPECT_EQ(test::names_in(path("c"))[0], "model-00001-of-00003.gguf");
}

TEST_F(SplitMerge, ASinglePartIsAPlainFile) {
    write_model(path("m.gguf"), 2);
    ASSERT_EQ(minfer({"split", path("m.gguf"), path("out"), "--max-size", "1G"}).status, 0);
    EXPECT_THAT(test::names_in(path("out")), ElementsAre("m.gguf"));
    EXPECT_EQ(test::read_file(path("out/m.gguf")), test::read_file(path("m.gguf")));
    for (const bool dry : {false, true}) {
        std::vector<std::string> words = {"split", path("m.gguf"), folder_.path().string(), "--max-size", "1G"};
        if (dry) words.push_back("--dry-run");
        const auto same = minfer(words);
        EXPECT_EQ(same.status, 1);
        EXPECT_THAT(same.err, HasSubstr("m.gguf is both input and output"));
    }
}

TEST_F(SplitMerge, DryRunsWriteNothing) {
    write_model(path("m.gguf"), 4);
    const auto dry = minfer({"split", path("m.gguf"), path("out"), "--max-size", "128K", "--dry-run"});
    EXPECT_EQ(dry.status, 0);
    EXPECT_FALSE(fs::exists(path("out")));
    const auto real = minfer({"split", path("m.gguf"), path("out"), "--max-size", "128K"});
    EXPECT_EQ(real.out, dry.out);
    for (const std::string& name : test::names_in(path("out")))
        EXPECT_THAT(dry.out, HasSubstr(fmt::format("({} bytes)", fs::file_size(path("out/" + name)))));
    const auto merge = minfer({"merge", path("w.gguf"), path("out/m-00001-of-00003.gguf"), "--dry-run"});
    EXPECT_EQ(merge.status, 0);
    EXPECT_THAT(merge.out, HasSubstr(fmt::format("({} bytes)", fs::file_size(path("m.gguf")))));
    EXPECT_FALSE(fs::exists(path("w.gguf")));
}

// Parts stay open until all are whole: more of them than a shell's usual limit, and than a process may have.
TEST_F(SplitMerge, MorePartsThanFilesMayBeOpen) {
    gguf::Writer out(path("m.gguf"));
    for (int i = 0; i < 300; ++i) out.add_tensor({.name = fmt::format("t{}", i), .ne = {8, 1, 1, 1}});
    out.begin();
    for (int i = 0; i < 300; ++i) {
        out.begin_tensor(fmt::format("t{}", i));
        out.write(std::vector<std::byte>(32, std::byte(i)));
    }
    out.commit();
    const auto limited = [&](const std::string& limit, std::vector<std::string> words) {
        std::vector<std::string> all = {"bash", "-c", "ulimit " + limit + " && exec \"$@\"", "-",
                                        test::binary().string()};
        all.insert(all.end(), words.begin(), words.end());
        return test::run(all);
    };
    const std::vector<std::string> split = {"split", path("m.gguf"), path("p"), "--split-max-tensors", "1"};
    const auto refused = limited("-n 64", split);  // the hard limit as well
    EXPECT_EQ(refused.status, 1);
    EXPECT_EQ(refused.err,
              "minfer split: 300 parts are open until the last is written, more than the files this process may open "
              "(ulimit -n); write larger parts, or raise that limit\n");
    EXPECT_FALSE(fs::exists(path("p")));
    const auto done = limited("-S -n 64", split);
    ASSERT_EQ(done.status, 0) << done.err;
    const std::string first = path("p/m-00001-of-00300.gguf");
    const auto unread = limited("-n 64", {"merge", path("w.gguf"), first});
    EXPECT_EQ(unread.status, 1);
    EXPECT_EQ(unread.err,
              "minfer merge: " + first +
                  ": its 300 parts are open at once, more than the files this process may open (ulimit -n)\n");
    ASSERT_EQ(limited("-S -n 64", {"merge", path("w.gguf"), first}).status, 0);
    EXPECT_EQ(test::read_file(path("w.gguf")), test::read_file(path("m.gguf")));
}

TEST_F(SplitMerge, MergesPartsOfOtherTools) {
    MINFER_SKIP_WITHOUT(test::python());
    const std::string script = (test::source_dir() / "tests/gguf/write_with_gguf_py.py").string();
    ASSERT_EQ(test::run({test::python().string(), script, path("whole.gguf")}).status, 0);
    ASSERT_EQ(test::run({test::python().string(), script, path("p.gguf"), "2"}).status, 0);
    const auto merge = minfer({"merge", path("merged.gguf"), path("p-00001-of-00003.gguf")});
    ASSERT_EQ(merge.status, 0) << merge.err;
    EXPECT_EQ(test::read_file(path("merged.gguf")), test::read_file(path("whole.gguf")));
}

TEST_F(SplitMerge, RefusalsOfSplit) {
    write_model(path("m.gguf"), 4);
    const auto refuse = [&](std::vector<std::string> words, int status, const std::string& said) {
        words.insert(words.begin(), "split");
        const auto done = minfer(words);
        EXPECT_EQ(done.status, status) << said;
        EXPECT_THAT(done.err, EndsWith(said + "\n"));
        EXPECT_EQ(done.err.find('\n'), done.err.size() - 1) << done.err;  // one line
        EXPECT_FALSE(fs::exists(path("out")));
    };
    refuse({path("m.gguf"), path("out")}, 1, "minfer split: --max-size is required (no silent default part size)");
    refuse({path("m.gguf"), path("out"), "--max-size", "65535"}, 1,
           "minfer split: GGUF split: tensor 't0' is 65536 bytes, larger than the 65535-byte part cap — a tensor "
           "cannot be "
           "split across parts; raise --split-max-size (at least 65536 bytes) or use a smaller-capable format");
    refuse({path("m.gguf"), path("out"), "--max-size", "12X"}, 2,
           "minfer split: --max-size: found '12X', expected bytes, above 0, as 1000, 1K, 512M or 2G");
    refuse({path("m.gguf")}, 2, "minfer split: OUT-DIR is required; see --help");
    refuse({path("m.gguf"), path("out"), "--max-size", "1M", "--stem", "a/b"}, 2,
           "minfer split: --stem is a name without a folder");
    ASSERT_EQ(minfer({"split", path("m.gguf"), path("parts"), "--max-size", "128K"}).status, 0);
    refuse({path("parts/m-00001-of-00003.gguf"), path("out"), "--max-size", "1M"}, 1,
           "m-00001-of-00003.gguf is already a multi-part split (3 parts); point at a single-file GGUF");
    fs::rename(path("parts/m-00001-of-00003.gguf"), path("hidden.gguf"));
    refuse({path("hidden.gguf"), path("out"), "--max-size", "1M"}, 1,
           "hidden.gguf is already a multi-part split (3 parts); point at a single-file GGUF");
    fs::copy(path("m.gguf"), path("m-00002-of-00007.gguf"));
    refuse({path("m-00002-of-00007.gguf"), path("out"), "--max-size", "1M"}, 1,
           "m-00002-of-00007.gguf is already a multi-part split (7 parts); point at a single-file GGUF");
    gguf::Writer empty(path("empty.gguf"));
    empty.begin();
    empty.commit();
    refuse({path("empty.gguf"), path("out"), "--max-size", "1M"}, 1,
           "empty.gguf has no tensors; there is nothing to split");
}

TEST_F(SplitMerge, RefusalsOfMerge) {
    write_model(path("m.gguf"), 4);
    ASSERT_EQ(minfer({"split", path("m.gguf"), path("p"), "--max-size", "128K"}).status, 0);
    const std::string first = path("p/m-00001-of-00003.gguf");
    const auto refuse = [&](const std::string& out, const std::string& part, const std::string& said) {
        const auto done = minfer({"merge", out, part});
        EXPECT_EQ(done.status, 1) << said;
        EXPECT_THAT(done.err, HasSubstr(said));
    };
    refuse(path("w.gguf"), path("m.gguf"), "m.gguf is no part of a split");
    refuse(path("w.gguf"), path("p/m-00002-of-00003.gguf"), "open the first part, " + first);
    const std::string before = test::read_file(path("p/m-00002-of-00003.gguf"));
    refuse(path("p/m-00002-of-00003.gguf"), first, "is both input and output");
    EXPECT_EQ(test::read_file(path("p/m-00002-of-00003.gguf")), before);
    fs::remove(path("p/m-00003-of-00003.gguf"));
    refuse(path("w.gguf"), first, "m-00003-of-00003.gguf, expected 3 parts");
    EXPECT_FALSE(fs::exists(path("w.gguf")));
}

TEST_F(SplitMerge, RefusesPartsOfAnotherModel) {
    // Two tensors in two parts, of equal names in every model.
    const auto write = [&](const std::string& name, const std::string& architecture, bool with_run) {
        gguf::Writer out(path(name + ".gguf"));
        out.set("general.architecture", gguf::Value::string(architecture));
        if (with_run) out.set("run", gguf::Value::scalar(2));
        for (const char* tensor : {"a", "b"}) out.add_tensor({.name = tensor, .ne = {4, 1, 1, 1}});
        out.split(gguf::SplitLimits{.max_tensors = 1});
        out.begin();
        for (const char* tensor : {"a", "b"}) {
            out.begin_tensor(tensor);
            out.write(std::vector<std::byte>(16));
        }
        out.commit();
    };
    write("one", "qwen2", false);
    write("other", "qwen3", false);
    write("more", "qwen2", true);
    const auto merge = [&](const std::string& first, const std::string& second) {
        fs::copy_file(path(first + "-00001-of-00002.gguf"), path("m-00001-of-00002.gguf"),
                      fs::copy_options::overwrite_existing);
        fs::copy_file(path(second + "-00002-of-00002.gguf"), path("m-00002-of-00002.gguf"),
                      fs::copy_options::overwrite_existing);
        const auto info = minfer({"info", path("m-00001-of-00002.gguf")});
        const auto done = minfer({"merge", path("w.gguf"), path("m-00001-of-00002.gguf")});
        EXPECT_EQ(info.status, done.status);
        EXPECT_EQ(done.status == 0, fs::exists(path("w.gguf")));
        fs::remove(path("w.gguf"));
        return done.err;
    };
    const std::string second = path("m-00002-of-00002.gguf"), as_first = ", as in " + path("m-00001-of-00002.gguf");
    EXPECT_EQ(merge("one", "one").find("minfer"), std::string::npos);
    EXPECT_EQ(merge("one", "other"), "minfer merge: " + second +
                                         ": key 'general.architecture': found string 'qwen3', "
                                         "expected string 'qwen2'" +
                                         as_first + ": parts of one model\n");
    EXPECT_EQ(merge("one", "more"), "minfer merge: " + second + ": key 'run': found i32 2, expected no such key" +
                                        as_first + ": parts of one model\n");
    EXPECT_EQ(merge("more", "one"), "minfer merge: " + second + ": key 'run': found no such key, expected i32 2" +
                                        as_first + ": parts of one model\n");
}

// Looking for each key among all of them took 39 s here.
TEST_F(SplitMerge, ManyKeys) {
    gguf::Writer out(path("m.gguf"));
    for (int i = 0; i < 120'000; ++i) out.set(fmt::format("key{}", i), gguf::Value::scalar(true));
    out.add_tensor({.name = "t", .ne = {4, 1, 1, 1}});
    out.begin();
    out.begin_tensor("t");
    out.write(std::vector<std::byte>(16));
    out.commit();
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(minfer({"split", path("m.gguf"), path("p"), "--max-size", "1M"}).status, 0);
    EXPECT_EQ(minfer({"info", path("m.gguf"), "--json"}).status, 0);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
    EXPECT_EQ(test::read_file(path("p/m.gguf")), test::read_file(path("m.gguf")));
}

TEST_F(SplitMerge, PathsCannotCommandATerminal) {
    write_model(path("m\x1b[2J.gguf"), 2);
    const auto split = minfer({"split", path("m\x1b[2J.gguf"), path("p"), "--max-size", "70K"});
    EXPECT_EQ(split.status, 0);
    EXPECT_THAT(split.out, HasSubstr("m\\x1b[2J-00001-of-00002.gguf: 1 tensor"));
    const auto missing = minfer({"merge", path("w.gguf"), path("n\x1b[2J-00001-of-00002.gguf")});
    EXPECT_THAT(missing.err, HasSubstr("n\\x1b[2J-00001-of-00002.gguf: cannot open"));
    for (const std::string& said : {split.out, split.err, missing.err}) EXPECT_THAT(said, Not(HasSubstr("\x1b")));
}

TEST_F(SplitMerge, AnEmptyNameIsRefusedBeforeTheWork) {
    write_model(path("m.gguf"), 4);
    ASSERT_EQ(minfer({"split", path("m.gguf"), path("p"), "--max-size", "128K"}).status, 0);
    const auto merge = minfer({"merge", "", path("p/m-00001-of-00003.gguf")});
    EXPECT_EQ(merge.status, 2);
    EXPECT_EQ(merge.err, "minfer merge: OUT is empty, expected the file to write\n");
    const auto split = minfer({"split", path("m.gguf"), "", "--max-size", "128K"});
    EXPECT_EQ(split.status, 2);
    EXPECT_EQ(split.err, "minfer split: OUT-DIR is empty, expected the folder of the parts\n");
    const auto long_name = minfer({"merge", path(std::string(256, 'n')), path("p/m-00001-of-00003.gguf")});
    EXPECT_EQ(long_name.status, 1);
    EXPECT_THAT(long_name.err, MatchesRegex("minfer merge: [^\n]*: cannot create: File name too long\n"));
}

TEST_F(SplitMerge, SaysWhenASplitCannotComeBackByteForByte) {
    gguf::Writer out(path("m.gguf"));
    out.add_tensor({.name = "t", .ne = {3, 1, 1, 1}});
    out.begin();
    out.begin_tensor("t");
    out.write(std::vector<std::byte>(12));
    out.commit();
    EXPECT_EQ(minfer({"split", path("m.gguf"), path("a"), "--max-size", "1M"}).err.find("note"), std::string::npos);
    const std::string whole = test::read_file(path("m.gguf"));
    std::string dirty = whole;
    dirty.back() = 'x';
    for (const std::string& other : {whole + "more", whole.substr(0, whole.size() - 20), dirty}) {
        test::write_file(path("n.gguf"), other);
        const auto split = minfer({"split", path("n.gguf"), path("b"), "--max-size", "1M"});
        EXPECT_EQ(split.status, 0);
        EXPECT_THAT(split.err, HasSubstr("note: "));
        EXPECT_EQ(test::read_file(path("b/n.gguf")), whole);
    }
}

TEST_F(SplitMerge, ARealModelInLittleMemory) {
    const auto model = test::models_dir() / "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf";
    MINFER_SKIP_WITHOUT(model);
    ASSERT_EQ(minfer({"split", model.string(), path("p"), "--max-size", "200M", "--stem", "q"}).status, 0);
    ASSERT_EQ(minfer({"merge", path("w.gguf"), path("p/q-00001-of-00003.gguf")}).status, 0);
    rusage usage = {};
    getrusage(RUSAGE_CHILDREN, &usage);
    EXPECT_LT(usage.ru_maxrss, 96 * 1024);  // KiB, and all of the program's own pages are in it
    EXPECT_EQ(test::run({"cmp", model.string(), path("w.gguf")}).status, 0);
}

TEST_F(SplitMerge, KilledAtRandomMoments) {
    write_model(path("m.gguf"), 1000);  // 62.5 MiB
    fs::create_directory(path("whole"));
    ASSERT_EQ(minfer({"split", path("m.gguf"), path("whole"), "--max-size", "10M"}).status, 0);
    ASSERT_THAT(test::names_in(path("whole")), SizeIs(7));
    std::mt19937 random(7);
    int unfinished = 0;
    for (int round = 0; round < 20; ++round) {
        const std::string binary = test::binary().string(), input = path("m.gguf"), folder = path("out");
        fs::create_directory(folder);
        const char* argv[] = {binary.c_str(), "split", input.c_str(), folder.c_str(), "--max-size", "10M", nullptr};
        posix_spawn_file_actions_t quiet;
        posix_spawn_file_actions_init(&quiet);
        posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
        pid_t child = 0;
        ASSERT_EQ(posix_spawn(&child, binary.c_str(), &quiet, nullptr, const_cast<char**>(argv), environ), 0);
        posix_spawn_file_actions_destroy(&quiet);
        usleep(useconds_t(random() % 120'000));
        kill(child, SIGKILL);
        int status = 0;
        waitpid(child, &status, 0);
        if (WIFSIGNALED(status)) {
            // The parts get their names when all are written: one that is there is whole.
            const auto left = test::names_in(folder);
            for (const std::string& name : left)
                ASSERT_EQ(test::read_file(fs::path(folder) / name), test::read_file(fs::path(path("whole")) / name));
            unfinished += left.empty();
        } else {
            ASSERT_THAT(test::names_in(folder), SizeIs(7)) << round;
        }
        fs::remove_all(folder);
    }
    EXPECT_GE(unfinished, 5);  // else the moments were none
}

TEST_F(SplitMerge, AFullDisk) {
    write_model(path("m.gguf"), 40);
    fs::create_directory(path("disk"));
    if (mount("tmpfs", path("disk").c_str(), "tmpfs", 0, "size=2m") != 0)
        GTEST_SKIP() << "only root can mount a small disk";
    test::write_file(path("disk/m-00001-of-00003.gguf"), "old");
    const auto done = minfer({"split", path("m.gguf"), path("disk"), "--max-size", "1M"});
    const auto left = test::names_in(path("disk"));
    const std::string kept = test::read_file(path("disk/m-00001-of-00003.gguf"));
    umount(path("disk").c_str());
    EXPECT_EQ(done.status, 1);
    EXPECT_THAT(done.err, HasSubstr("gguf: cannot write: No space left on device"));
    EXPECT_THAT(left, ElementsAre("m-00001-of-00003.gguf"));
    EXPECT_EQ(kept, "old");
}

TEST_F(SplitMerge, AFileSizeLimit) {
    write_model(path("m.gguf"), 40);
    const auto done = test::run({"bash", "-c", "ulimit -f 1024 && exec \"$@\"", "-", test::binary().string(), "split",
                                 path("m.gguf"), path("out"), "--max-size", "3M"});
    EXPECT_EQ(done.status, 1);
    EXPECT_THAT(done.err, HasSubstr("gguf: cannot write: File too large"));
    EXPECT_FALSE(fs::exists(path("out")));  // the command had made the folder
}

TEST_F(SplitMerge, AReadError) {
    write_model(path("m.gguf"), 40);
    test::write_file(path("w.gguf"), "old");
    ASSERT_EQ(minfer({"split", path("m.gguf"), path("p"), "--max-size", "1M"}).status, 0);
    for (const char* after : {"0", "300000", "2200000"}) {
        const std::vector<std::string> failing = {std::string("LD_PRELOAD=") + MINFER_FAILING_PREAD,
                                                  std::string("FAIL_AFTER_BYTES=") + after};
        const auto split = minfer({"split", path("m.gguf"), path("out"), "--max-size", "1M"}, failing);
        EXPECT_EQ(split.status, 1) << after;
        EXPECT_THAT(split.err, HasSubstr("m.gguf: cannot read ")) << after;
        EXPECT_THAT(split.err, EndsWith("Input/output error\n")) << after;
        EXPECT_FALSE(fs::exists(path("out"))) << after;
        const auto merge = minfer({"merge", path("w.gguf"), path("p/m-00001-of-00003.gguf")}, failing);
        EXPECT_EQ(merge.status, 1) << after;
        EXPECT_THAT(merge.err, EndsWith("Input/output error\n")) << after;
        EXPECT_EQ(test::read_file(path("w.gguf")), "old") << after;
    }
}

}  // namespace
}  // namespace minfer
