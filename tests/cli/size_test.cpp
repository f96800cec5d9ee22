#include "cli/size.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace minfer::cli {
namespace {

TEST(Size, PlainAndWithBinarySuffixes) {
    EXPECT_EQ(parse_size("--max-size", "1000"), 1000u);
    EXPECT_EQ(parse_size("--max-size", "1K"), 1024u);
    EXPECT_EQ(parse_size("--max-size", "512M"), uint64_t(512) << 20);
    EXPECT_EQ(parse_size("--max-size", "2G"), uint64_t(2) << 30);
    EXPECT_EQ(parse_size("--max-size", "18446744073709551615"), UINT64_MAX);
}

TEST(Size, AnythingElseIsRefusedByOption) {
    for (const char* text :
         {"", "0", "0M", "-1", "1.5G", "1KB", "K", "1k", " 1", "1 ", "18446744073709551616", "18014398509481984K"})
        try {
            parse_size("--max-size", text);
            ADD_FAILURE() << text;
        } catch (const UsageError& e) {
            EXPECT_EQ(std::string(e.what()), "--max-size: found '" + std::string(text) +
                                                 "', expected bytes, above 0, as 1000, 1K, 512M or 2G");
        }
}

}  // namespace
}  // namespace minfer::cli
