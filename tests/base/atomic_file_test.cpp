// Files that are whole or absent, by what is on the disk after each way of ending.
#include "base/atomic_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

#include "base/error.h"
#include "support/support.h"

namespace minfer {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

class AtomicFileTest : public ::testing::Test {
  protected:
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    std::vector<std::string> files() const { return test::names_in(folder_.path()); }
    test::TemporaryFolder folder_;
};

TEST_F(AtomicFileTest, AppearsAtCommitAndNotBefore) {
    test::write_file(path("f"), "old");
    {
        AtomicFile out(path("f"));
        out.write(bytes("new and"));
        out.write_zeros(5000);
        out.pwrite(0, bytes("NEW"));
        EXPECT_EQ(out.position(), 5007u);
        EXPECT_EQ(test::read_file(path("f")), "old");
        out.commit();
        EXPECT_EQ(test::read_file(path("f")), "NEW and" + std::string(5000, '\0'));
    }
    EXPECT_THAT(files(), ElementsAre("f"));
}

TEST_F(AtomicFileTest, ThreadsFillWhatWasReserved) {
    constexpr size_t kPiece = 70'000, kPieces = 300;  // enough for write-back to start under way
    AtomicFile out(path("f"));
    std::vector<std::thread> threads;
    std::vector<uint64_t> offsets;
    for (size_t i = 0; i < kPieces; ++i) offsets.push_back(out.reserve(kPiece));
    for (size_t thread = 0; thread < 3; ++thread)
        threads.emplace_back([&, thread] {
            for (size_t i = thread; i < kPieces; i += 3)
                out.pwrite(offsets[i], bytes(std::string(kPiece, char('a' + i % 26))));
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(out.position(), kPiece * kPieces);
    out.write(bytes("end"));
    out.commit();
    std::string expected;
    for (size_t i = 0; i < kPieces; ++i) expected += std::string(kPiece, char('a' + i % 26));
    EXPECT_TRUE(test::read_file(path("f")) == expected + "end");
}

TEST_F(AtomicFileTest, LeavesNothingWithoutCommit) {
    test::write_file(path("f"), "old");
    {
        AtomicFile out(path("f")), other(path("g"));
        out.write(bytes("new"));
        out.flush();
        AtomicFile moved(std::move(other));
    }
    EXPECT_EQ(test::read_file(path("f")), "old");
    EXPECT_THAT(files(), ElementsAre("f"));
}

// As on a file system without nameless files.
TEST_F(AtomicFileTest, ATemporaryNameServesAsWell) {
    test::write_file(path("f"), "old");
    {
        AtomicFile out(path("f"), AtomicFile::Unfinished::Named);
        out.write(bytes("new"));
        EXPECT_EQ(files().size(), 2u);
        EXPECT_EQ(test::read_file(path("f")), "old");
    }
    EXPECT_THAT(files(), ElementsAre("f"));
    AtomicFile out(path("f"), AtomicFile::Unfinished::Named);
    out.write(bytes("new"));
    out.commit();
    EXPECT_EQ(test::read_file(path("f")), "new");
    EXPECT_THAT(files(), ElementsAre("f"));
}

TEST_F(AtomicFileTest, FollowsALinkAtItsDestination) {
    fs::create_directory(path("there"));
    test::write_file(path("there/f"), "old");
    fs::create_symlink("there/f", path("link"));
    AtomicFile out(path("link"));
    out.write(bytes("new"));
    out.commit();
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_EQ(test::read_file(path("there/f")), "new");
}

TEST_F(AtomicFileTest, RefusesDestinationsThatAreNoFiles) {
    EXPECT_THAT(test::what<IoError>([&] { AtomicFile(folder_.path().string()); }), HasSubstr("Is a directory"));
    EXPECT_THAT(test::what<IoError>([&] { AtomicFile("/dev/null"); }), HasSubstr("/dev/null: cannot replace"));
    EXPECT_THAT(test::what<IoError>([&] { AtomicFile(path("none/f")); }),
                HasSubstr("none/f: cannot create: No such file"));
}

TEST_F(AtomicFileTest, HasTheModeOfAnyNewFile) {
    const mode_t before = umask(027);
    AtomicFile out(path("f"));
    out.commit();
    umask(before);
    EXPECT_EQ(unsigned(fs::status(path("f")).permissions()), 0640u);
}

TEST_F(AtomicFileTest, KeepsTheModeOfWhatItReplaces) {
    for (const auto unfinished : {AtomicFile::Unfinished::Nameless, AtomicFile::Unfinished::Named})
        for (const unsigned mode : {0600u, 0444u, 0777u}) {
            test::write_file(path("f"), "old");
            fs::permissions(path("f"), fs::perms(mode));
            AtomicFile out(path("f"), unfinished);
            out.write(bytes("new"));
            out.commit();
            EXPECT_EQ(test::read_file(path("f")), "new");
            EXPECT_EQ(unsigned(fs::status(path("f")).permissions()), mode);
            fs::remove(path("f"));
        }
}

TEST_F(AtomicFileTest, NamesAsLongAsTheyMayBeAndNoLonger) {
    const std::string longest(255, 'n');
    for (const auto unfinished : {AtomicFile::Unfinished::Nameless, AtomicFile::Unfinished::Named})
        for (const char* text : {"first", "second"}) {
            AtomicFile out(path(longest), unfinished);
            out.write(bytes(text));
            out.commit();
            EXPECT_EQ(test::read_file(path(longest)), text);
        }
    EXPECT_THAT(files(), ElementsAre(longest));
    EXPECT_EQ(test::what<IoError>([&] { AtomicFile(path(longest + "n")); }),
              path(longest + "n") + ": cannot create: File name too long");
    EXPECT_EQ(test::what<IoError>([] { AtomicFile(""); }), "'': cannot create: No such file or directory");
}

TEST_F(AtomicFileTest, ASignalTakesTheTemporaryNamesAlong) {
    test::write_file(path("f"), "old");
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            const rlimit no_core = {0, 0};
            setrlimit(RLIMIT_CORE, &no_core);
            AtomicFile f(path("f"), AtomicFile::Unfinished::Named), g(path("g"), AtomicFile::Unfinished::Named);
            {
                AtomicFile(path("h"), AtomicFile::Unfinished::Named);
            }
            const AtomicFile moved(std::move(g));
            f.write(bytes("new"));
            raise(signal);
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
        EXPECT_THAT(files(), ElementsAre("f")) << signal;
    }
    EXPECT_EQ(test::read_file(path("f")), "old");
}

TEST_F(AtomicFileTest, SignalsDoWhatTheyDidOnceNoNameIsLeft) {
    const auto handler = [](int signal) {
        struct sigaction action = {};
        sigaction(signal, nullptr, &action);
        return action.sa_handler;
    };
    signal(SIGHUP, SIG_IGN);
    {
        AtomicFile f(path("f"), AtomicFile::Unfinished::Named), g(path("g"), AtomicFile::Unfinished::Named);
        EXPECT_EQ(handler(SIGHUP), SIG_IGN);
        EXPECT_NE(handler(SIGTERM), SIG_DFL);
        f.commit();
        EXPECT_NE(handler(SIGTERM), SIG_DFL);
    }
    EXPECT_EQ(handler(SIGTERM), SIG_DFL);
    signal(SIGHUP, SIG_DFL);
}

// A child process writes and is killed; the parent looks at what is left.
TEST_F(AtomicFileTest, KilledAtAnyMoment) {
    test::write_file(path("f"), "old");
    for (int round = 0; round < 20; ++round) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            AtomicFile out(path("f"));
            for (;;) out.write_zeros(4096);
        }
        usleep(useconds_t(200 * round));
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
        ASSERT_EQ(test::read_file(path("f")), "old") << round;
        ASSERT_THAT(files(), ElementsAre("f")) << round;
    }
}

TEST_F(AtomicFileTest, AFullDisk) {
    fs::create_directory(path("disk"));
    if (mount("tmpfs", path("disk").c_str(), "tmpfs", 0, "size=64k") != 0)
        GTEST_SKIP() << "only root can mount a small disk";
    test::write_file(path("disk/f"), "old");
    const std::string said = test::what<IoError>([&] {
        AtomicFile out(path("disk/f"));
        out.write_zeros(1 << 20);
        out.commit();
    });
    const std::string kept = test::read_file(path("disk/f"));
    const auto left = std::distance(fs::directory_iterator(path("disk")), {});
    umount(path("disk").c_str());
    EXPECT_EQ(said, path("disk/f") + ": cannot write: No space left on device");
    EXPECT_EQ(kept, "old");
    EXPECT_EQ(left, 1);
}

TEST_F(AtomicFileTest, AFileSizeLimit) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{65536, 65536};
        setrlimit(RLIMIT_FSIZE, &limit);
        const std::string said = test::what<IoError>([&] { AtomicFile(path("f")).write_zeros(1 << 20); });
        _exit(said == path("f") + ": cannot write: File too large" ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_THAT(files(), ElementsAre());
}

}  // namespace
}  // namespace minfer
