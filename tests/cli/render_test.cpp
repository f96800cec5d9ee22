// minfer render prints what tests/fixtures/render_chat.py prints.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "support/support.h"

namespace minfer {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = test::source_dir() / "tests" / "chat" / "templates";

std::vector<std::string> words(const fs::path& file, std::vector<std::string> more = {}) {
    std::vector<std::string> out = {test::binary().string(), "render", file.string(),
                                    (kFolder / "conversations.json").string()};
    out.insert(out.end(), more.begin(), more.end());
    return out;
}

TEST(Render, PrintsWhatPythonPrints) {
    MINFER_SKIP_WITHOUT(test::python());
    const fs::path script = test::source_dir() / "tests" / "fixtures" / "render_chat.py";
    for (const char* name : {"loops.jinja", "space.jinja", "error_1.jinja", "error_6.jinja"}) {
        const test::Finished wanted = test::run({test::python().string(), script.string(), (kFolder / name).string(),
                                                 (kFolder / "conversations.json").string()});
        const test::Finished found = test::run(words(kFolder / name, {"--now", "2026-11-29 12:34:56"}));
        EXPECT_EQ(found.out, wanted.out) << name;
        EXPECT_EQ(found.status, 0) << found.err;
    }
}

TEST(Render, TakesNamesAndAClock) {
    const test::TemporaryFolder folder;
    test::write_file(folder / "t.jinja", "{{ strftime_now('%Y %b %d') }} {{ messages|length }}\n");
    const test::Finished found = test::run(words(folder / "t.jinja", {"several", "none", "--now", "1999-12-31"}));
    EXPECT_EQ(found.out, "{\n \"several\": \"1999 Dec 31 4\",\n \"none\": \"1999 Dec 31 0\"\n}\n");
}

TEST(Render, SaysWhereATemplateFails) {
    const test::TemporaryFolder folder;
    test::write_file(folder / "t.jinja", "a\n {{ 1 // 0 }}");
    const test::Finished found = test::run(words(folder / "t.jinja", {"one"}));
    EXPECT_EQ(found.out,
              "{\n \"one\": {\n  \"error\": \"ZeroDivisionError: integer division or modulo by zero\"\n }\n}\n");
    EXPECT_NE(found.err.find("line 2, column 5"), std::string::npos) << found.err;
}

TEST(Render, RefusesWhatIsNotThere) {
    EXPECT_EQ(test::run(words("nosuch.jinja")).status, 1);
    EXPECT_EQ(test::run(words(kFolder / "loops.jinja", {"nosuch"})).status, 1);
    EXPECT_EQ(test::run(words(kFolder / "loops.jinja", {"--now", "tomorrow"})).status, 2);
    EXPECT_EQ(test::run({test::binary().string(), "render"}).status, 2);
    const test::TemporaryFolder folder;
    test::write_file(folder / "list.json", "[1]");
    const test::Finished found = test::run(
        {test::binary().string(), "render", (kFolder / "loops.jinja").string(), (folder / "list.json").string()});
    EXPECT_EQ(found.status, 1);
    EXPECT_NE(found.err.find("an object of objects"), std::string::npos) << found.err;
}

}  // namespace
}  // namespace minfer
