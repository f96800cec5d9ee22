// Files as they are read.
#include "base/file.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "support/support.h"

namespace minfer {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class FileTest : public ::testing::Test {
  protected:
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    test::TemporaryFolder folder_;
};

TEST_F(FileTest, ReadsByPosition) {
    test::write_file(path("f"), "0123456789");
    const File file = File::open(path("f"));
    EXPECT_EQ(file.size(), 10u);
    std::string part(4, '?');
    file.pread_exact(3, std::as_writable_bytes(std::span(part)));
    EXPECT_EQ(part, "3456");
    EXPECT_EQ(test::what<IoError>([&] { file.pread_exact(8, std::as_writable_bytes(std::span(part))); }),
              path("f") + ": cannot read 2 bytes at 10, where it ends: No data available");
    EXPECT_THAT(test::what<IoError>([&] { File::open(path("none")); }), HasSubstr("none: cannot open: No such file"));
    EXPECT_THAT(test::what<IoError>([&] { File::open(folder_.path().string()); }),
                HasSubstr("cannot read: Is a directory"));
    EXPECT_THAT(test::what<IoError>([&] { File::open("/dev/null"); }), HasSubstr("/dev/null"));
}

TEST_F(FileTest, AReadErrorIsAnErrorAndNoSignal) {
    // The kernel refuses to read another process's memory where nothing is mapped: an I/O error of a regular file.
    const File memory = File::open("/proc/self/mem");
    std::string part(4, '?');
    EXPECT_THAT(test::what<IoError>([&] { memory.pread_exact(0, std::as_writable_bytes(std::span(part))); }),
                HasSubstr("/proc/self/mem: cannot read 4 bytes at 0: Input/output error"));
}

TEST_F(FileTest, KnowsItsOtherNames) {
    test::write_file(path("f"), "x");
    test::write_file(path("g"), "x");
    fs::create_symlink("f", path("soft"));
    fs::create_hard_link(path("f"), path("hard"));
    const File file = File::open(path("f"));
    EXPECT_TRUE(file.is_same_file(path("f")));
    EXPECT_TRUE(file.is_same_file(path("soft")));
    EXPECT_TRUE(file.is_same_file(path("hard")));
    EXPECT_FALSE(file.is_same_file(path("g")));
    EXPECT_FALSE(file.is_same_file(path("none")));
}

TEST_F(FileTest, Maps) {
    const std::string text(10'000, 'm');
    test::write_file(path("f"), text + "end");
    const MappedFile mapped = MappedFile::open(path("f"));
    ASSERT_EQ(mapped.bytes().size(), 10'003u);
    mapped.advise(1, 5000, MappedFile::Advice::WillNeed);
    mapped.advise(9000, UINT64_MAX, MappedFile::Advice::Sequential);
    mapped.release(0, UINT64_MAX);
    mapped.release(UINT64_MAX, 1);
    EXPECT_EQ(char(mapped.bytes()[10'002]), 'd');
    test::write_file(path("empty"), "");
    EXPECT_TRUE(MappedFile::open(path("empty")).bytes().empty());
}

}  // namespace
}  // namespace minfer
