#include "base/progress.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "base/byte_size.h"

namespace minfer {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
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

TEST(Progress, WritesALineForEachTenthIntoALog) {
    EXPECT_THAT(drawn(false, true), StartsWith("copy: 10% of 1000 B\ncopy: 20% of 1000 B\n"));
    EXPECT_THAT(drawn(false, true), HasSubstr("copy: 90% of 1000 B\ncopy: 1000 B in 0.0 s, "));
    EXPECT_THAT(drawn(false, true), Not(HasSubstr("\x1b")));
    EXPECT_THAT(drawn(false, true), Not(HasSubstr("100%")));
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
