#include "base/progress.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/byte_size.h"

namespace minfer {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

TEST(ByteSize, Formats) {
    EXPECT_EQ(format_byte_size(0), "0 B");
    EXPECT_EQ(format_byte_size(1023), "1023 B");
    EXPECT_EQ(format_byte_size(1536), "1.5 KiB");
    EXPECT_EQ(format_byte_size(1048575), "1.0 MiB");
    EXPECT_EQ(format_byte_size(98362432), "93.8 MiB");
    EXPECT_EQ(format_byte_size(UINT64_MAX), "16.0 EiB");
}

TEST(ProgressBar, ShowsShareSpeedAndTimeLeft) {
    const std::string bar = progress_bar("split", "output.weight", 1 << 20, 4 << 20, 2.0, 200);
    EXPECT_EQ(bar, "split [======                  ]  25%  512.0 KiB/s  0:06 left  output.weight");
    EXPECT_EQ(progress_bar("split", "output.weight", 1 << 20, 4 << 20, 2.0, 20), bar.substr(0, 20));
    EXPECT_EQ(progress_bar("x", "", 0, 10, 0, 99), "x [                        ]   0%  0 B/s");
    EXPECT_THAT(progress_bar("x", "", 0, 0, 1, 99), HasSubstr("] 100%"));
    EXPECT_THAT(progress_bar("x", "", 20, 10, 1, 99), HasSubstr("] 100%"));
    EXPECT_THAT(progress_bar("x", "", 1, 7201, 1, 99), EndsWith("2:00:00 left"));
}

std::string drawn(bool is_terminal, bool finished, int patience = 0) {
    char* text = nullptr;
    size_t size = 0;
    std::FILE* out = open_memstream(&text, &size);
    {
        Progress progress("copy", 1000, out, is_terminal);
        progress.be_quiet_for(std::chrono::milliseconds(patience));
        progress.item("a");
        for (int i = 0; i < 100; ++i) progress.advance(10);
        if (finished) progress.finish();
    }
    std::fclose(out);
    std::string copy(text, size);
    std::free(text);
    return copy;
}

TEST(Progress, WritesTheLastLineAloneOfSoonDoneWorkIntoALog) {
    EXPECT_THAT(drawn(false, true), StartsWith("copy: 1000 B in 0.0 s, "));
}

TEST(Progress, WritesALineASecondIntoALogAtMost) {
    char* text = nullptr;
    size_t size = 0;
    std::FILE* out = open_memstream(&text, &size);
    Progress progress("copy", 1000, out, false);
    for (int i = 0; i < 15; ++i) {
        progress.advance(50);  // to 75% in 1.5 s
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    progress.advance(250);
    progress.finish();
    std::fclose(out);
    const std::string lines(text, size);
    std::free(text);
    EXPECT_THAT(lines, MatchesRegex("copy: [4-7]0% of 1000 B\ncopy: 1000 B in [0-9.]* s, [^\n]*\n"));
    EXPECT_THAT(lines, Not(HasSubstr("\x1b")));
}

TEST(Progress, AnItemCannotCommandATerminal) {
    char* text = nullptr;
    size_t size = 0;
    std::FILE* out = open_memstream(&text, &size);
    {
        Progress progress("copy", 1000, out, true);
        progress.item("a\x1b[2Jb\n\xc2\x9b");
        std::this_thread::sleep_for(std::chrono::milliseconds(150));
        progress.advance(500);
    }
    std::fclose(out);
    const std::string drawing(text, size);
    std::free(text);
    EXPECT_THAT(drawing, HasSubstr("a\\x1b[2Jb\\n\\xc2\\x9b"));
    EXPECT_THAT(drawing, Not(HasSubstr("\x1b[2J")));
}

TEST(Progress, IsQuietAboutWorkThatIsSoonDone) {
    EXPECT_EQ(drawn(false, true, 60000), "");
    EXPECT_EQ(drawn(true, true, 60000), "");
}

TEST(Progress, ATerminalThatIsFastSeesTheLastLineAlone) {
    EXPECT_THAT(drawn(true, true), StartsWith("copy: 1000 B in 0.0 s, "));
    EXPECT_EQ(drawn(true, false), "");
}

}  // namespace
}  // namespace minfer
