// The template engine against Jinja2: templates of this tree, templates of others, and generated programs.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "chat/jinja/error.h"
#include "chat/jinja/template.h"
#include "support/support.h"

namespace minfer::chat::jinja {
namespace {

namespace fs = std::filesystem;

std::string script(const char* name) { return (test::source_dir() / "tests" / "chat" / name).string(); }

std::vector<std::string> templates_in(const fs::path& folder) {
    std::vector<std::string> out;
    for (const auto& each : fs::directory_iterator(folder))
        if (each.path().extension() == ".jinja") out.push_back(each.path().string());
    std::ranges::sort(out);
    return out;
}

enum class Templates { kOwn, kOfModels };

void expect_agreement(const fs::path& folder, const fs::path& conversations, Templates whose) {
    std::vector<std::string> words = {test::python().string(), "-W", "ignore", script("jinja_templates.py")};
    if (whose == Templates::kOwn) words.emplace_back("--own");
    words.insert(words.end(), {MINFER_JINJA_BATCH, conversations.string()});
    const std::vector<std::string> templates = templates_in(folder);
    ASSERT_FALSE(templates.empty());
    words.insert(words.end(), templates.begin(), templates.end());
    const test::Finished finished = test::run(words);
    EXPECT_EQ(finished.status, 0) << finished.out << finished.err;
}

TEST(JinjaOracle, OwnTemplates) {
    MINFER_SKIP_WITHOUT(test::python());
    const fs::path folder = test::source_dir() / "tests" / "chat" / "templates";
    expect_agreement(folder, folder / "conversations.json", Templates::kOwn);
}

TEST(JinjaOracle, TemplatesOfModels) {
    MINFER_SKIP_WITHOUT(test::python());
    MINFER_SKIP_WITHOUT(test::shared_dir() / "templates");
    expect_agreement(test::shared_dir() / "templates", test::shared_dir() / "templates" / "conversations.json",
                     Templates::kOfModels);
}

TEST(JinjaOracle, GeneratedPrograms) {
    MINFER_SKIP_WITHOUT(test::python());
    const test::Finished finished = test::run(
        {test::python().string(), "-W", "ignore", script("jinja_fuzz.py"), MINFER_JINJA_BATCH, "--count", "3000"});
    EXPECT_EQ(finished.status, 0) << finished.out << finished.err;
}

TEST(JinjaOracle, CharacterReferences) {
    MINFER_SKIP_WITHOUT(test::python());
    const test::Finished finished =
        test::run({test::python().string(), "-W", "ignore", script("jinja_references.py"), MINFER_JINJA_BATCH});
    EXPECT_EQ(finished.status, 0) << finished.out << finished.err;
}

std::string render(const std::string& source, const char* variables = "{}", const RenderOptions& options = {}) {
    return Template::parse(source).render(nlohmann::ordered_json::parse(variables), options);
}

// The type of the error that rendering ends with.
std::string failure(const std::string& source, const RenderOptions& options = {}) {
    try {
        return "text: " + render(source, "{}", options);
    } catch (const TemplateFailure& e) {
        return e.type();
    }
}

TEST(JinjaErrors, TellLineAndColumn) {
    try {
        render("first\n  {{ 1 +\n   'x' }}");
        FAIL();
    } catch (const TemplateFailure& e) {
        EXPECT_EQ(e.line(), 2);
        EXPECT_EQ(e.column(), 6);
        EXPECT_EQ(e.python_text(), "TypeError: unsupported operand type(s) for +: 'int' and 'str'");
        EXPECT_STREQ(e.what(), "line 2, column 6: TypeError: unsupported operand type(s) for +: 'int' and 'str'");
    }
    try {
        render("é\n{% for x in %}");
        FAIL();
    } catch (const TemplateFailure& e) {
        EXPECT_EQ(e.type(), "TemplateSyntaxError");
        EXPECT_EQ(e.line(), 2);
        EXPECT_EQ(e.column(), 13);
    }
}

TEST(JinjaSandbox, StopsWhatDoesNotEnd) {
    RenderOptions options;
    options.limits.steps = 100'000;
    EXPECT_EQ(failure("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", options),
              "StepLimit");
    EXPECT_EQ(failure("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"), "RecursionError");
    EXPECT_EQ(failure("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}"), "RecursionError");
}

TEST(JinjaSandbox, StopsWhatGrowsTooLarge) {
    EXPECT_EQ(failure("{{ 'a' * 999999999 }}"), "OutputLimit");
    EXPECT_EQ(failure("{{ [0] * 999999999 }}"), "OutputLimit");
    EXPECT_EQ(failure("{{ '%999999999d' % 1 }}"), "OutputLimit");
    EXPECT_EQ(
        failure(
            "{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}"),
        "OutputLimit");
    // Shared values whose text doubles with each level, and values nested without end.
    EXPECT_EQ(
        failure("{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}"),
        "OutputLimit");
    EXPECT_EQ(failure("{% set ns = namespace(x=[1]) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% endfor %}"),
              "RecursionError");
    EXPECT_EQ(
        failure("{% set ns = namespace(x=[1]) %}{% for i in range(9999) %}{% set ns.x = ns.x|select %}{% endfor %}"),
        "RecursionError");
    RenderOptions options;
    options.limits.output = 1000;
    EXPECT_EQ(failure("{% for i in range(999) %}abc{% endfor %}", options), "OutputLimit");
}

// What one call does with a long text counts for as much as it takes, wherever the text stands in it.
TEST(JinjaSandbox, CountsCallsByWhatTheyWalkOver) {
    RenderOptions options;
    options.limits.steps = 1'000'000;
    for (const char* each :
         {"l.find('b')", "l.count('b')", "l.rfind('b')", "l.startswith('b')", "'b'.join([l])", "'b'.find(l)",
          "'b' is in(l)", "'b'|default(l)", "[l].count(l ~ 'a')", "['b']|select('in', l)|list", "u[1000000]",
          "n.count(1)", "range(100000).index(99999)", "[l, l ~ 'a']|sort", "{l: 1}", "d[l]", "l in d", "d.get(l)"})
        EXPECT_EQ(
            failure(
                "{% set l = 'a' * 3000000 %}{% set u = 'é' * 1500000 %}{% set n = [0] * 1000000 %}{% set d = {l: 1} %}"
                "{% for i in range(100) %}{% set x = " +
                    std::string(each) + " %}{% endfor %}",
                options),
            "StepLimit")
            << each;
}

TEST(JinjaSandbox, BoundsTheItemsOfWhatSplits) {
    for (const char* each : {"split()", "split('b')", "rsplit()", "rsplit('b')", "rsplit(none, 1)", "splitlines()"})
        EXPECT_EQ(failure("{% set x = ('a b\n' * 5000000)." + std::string(each) + " %}"), "OutputLimit") << each;
}

// None of these takes a time that grows with the square of the text: each took minutes when it did.
TEST(JinjaSandbox, WalksOverLongTextsOnce) {
    const auto start = std::chrono::steady_clock::now();
    for (const char* each :
         {"('a' * 2000000)|wordwrap(1)", "(' ' * 2000000)|wordwrap(5)", "(('\xa0' * 1000000) ~ 'x')|wordwrap(1)",
          "('a' * 2000000).find('a' * 1000000 ~ 'b')", "('a' * 2000000).rfind('b' ~ 'a' * 1000000)",
          "('a' * 2000000).count('a' * 1000000 ~ 'b')", "('a' * 2000000)|replace('a' * 1000000 ~ 'b', 'c')",
          "('a' * 2000000).split('a' * 1000000 ~ 'b')|length", "('a' * 1000000 ~ 'b') in ('a' * 2000000)",
          "('ab' * 1000000).rfind('ab' * 500000 ~ 'b')", "('ab' * 1000000).rsplit('ab' * 500000 ~ 'b')|length",
          "('a ' * 1000000).rsplit(none, 500000)|length", "('(' * 3000000 ~ 'http://x')|urlize",
          "('http://x' ~ ')' * 3000000)|urlize", "('http://x' ~ '(' * 1500000 ~ 'y' ~ ')' * 1500000)|urlize",
          "(range(100000)|map('string')|join).strip(range(100000)|map('string')|join('é'))"})
        EXPECT_EQ(failure("{% set x = " + std::string(each) + " %}"), "text: ") << each;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(JinjaValues, NumbersAtTheEndsOfTheirRange) {
    EXPECT_EQ(
        render("{% set least = -9223372036854775807 - 1 %}{% set most = 9223372036854775807 %}"
               "{{ 9000000000000000000 in range(-9000000000000000000, 9200000000000000000, 9000000000000000000) }}"
               "{{ 'a'.zfill(least) }}{{ 'a'.ljust(least) }}{{ 'a'.rjust(least) }}{{ 'a'.center(least) }}"
               "{{ 'abc'.find('b', least, most) }}{{ [1].index(1, least, most) }}"),
        "Trueaaaa10");
    EXPECT_EQ(failure("{{ '{:99999999}'.format(1) }}"), "OutputLimit");
    EXPECT_EQ(failure("{{ '{:99999999999999999999}'.format(1) }}"), "ValueError");
}

TEST(JinjaSandbox, RefusesDeepNesting) {
    EXPECT_EQ(failure("{{ " + std::string(5000, '(') + "1" + std::string(5000, ')') + " }}"), "TemplateSyntaxError");
    std::string sum = "1";
    for (int i = 0; i < 5000; ++i) sum += "+1";
    EXPECT_EQ(failure("{{ " + sum + " }}"), "TemplateSyntaxError");
    std::string blocks;
    for (int i = 0; i < 5000; ++i) blocks += "{% if 1 %}";
    EXPECT_EQ(failure(blocks), "TemplateSyntaxError");
}

TEST(JinjaSandbox, RefusesWhatItHasNot) {
    EXPECT_EQ(failure("{{ 9223372036854775807 + 1 }}"), "OverflowError");
    EXPECT_EQ(failure("{{ 99999999999999999999 }}"), "OverflowError");
    EXPECT_EQ(failure("{{ [1]|random }}"), "TypeError");
    EXPECT_EQ(failure("{{ lipsum() }}"), "TypeError");
    EXPECT_EQ(failure("{{ [].append(1) }}"), "SecurityError");
    EXPECT_EQ(failure("{{ ''.__class__.__mro__ }}"), "SecurityError");
}

TEST(JinjaCycles, AreCutAtTheEnd) {
    // Leaks would show under AddressSanitizer.
    EXPECT_EQ(
        render("{% set ns = namespace() %}{% set ns.self = ns %}{% macro m() %}{{ ns.m is defined }}{% endmacro %}"
               "{% set ns.m = m %}{{ m() }}"),
        "True");
    EXPECT_EQ(render("{% set ns = namespace() %}{% for x in [1, 2] if x > 1 %}{% set ns.loop = loop %}{% endfor %}ok"),
              "ok");
}

TEST(JinjaClock, IsTheOneThatIsSet) {
    RenderOptions options;
    options.now = Clock::parse("2024-02-29 01:02:03");
    EXPECT_EQ(render("{{ strftime_now('%d %b %Y %H:%M:%S %A %j %f|%Z|%%') }}", "{}", options),
              "29 Feb 2024 01:02:03 Thursday 060 000000||%");
    EXPECT_EQ(Clock::parse("2024-02-29").time.tm_hour, 0);
    for (const char* wrong : {"", "now", "2023-02-29", "2024-01-01 25:00:00", "2024-01-01 10:00", "2024-01-01 1:2:3 x"})
        EXPECT_THROW(Clock::parse(wrong), UsageError) << wrong;
}

TEST(JinjaValues, KeepTheOrderOfJson) {
    EXPECT_EQ(
        render("{{ d|tojson }} {{ d }}", R"({"d": {"z": 1, "a": [1.0, 1e16, 1e-5, null, true, "é"]}})"),
        R"({"z": 1, "a": [1.0, 1e+16, 1e-05, null, true, "é"]} {'z': 1, 'a': [1.0, 1e+16, 1e-05, None, True, 'é']})");
}

TEST(JinjaValues, ConstantsThatAreNotFinite) {
    EXPECT_EQ(render("{{ 'nan'|float and x|default(3) }} {% set y = 1e999 %}{{ -y }}"), "3 -inf");
}

TEST(JinjaValues, AreNestedSoDeepAtMost) {
    const auto nested = [](size_t n) { return R"({"d": )" + std::string(n, '[') + std::string(n, ']') + "}"; };
    EXPECT_EQ(render("{{ d|length }}", nested(299).c_str()), "1");
    for (const size_t n : {310, 1'000'000}) {
        try {
            render("{{ d|length }}", nested(n).c_str());
            ADD_FAILURE() << n;
        } catch (const TemplateFailure& e) {
            EXPECT_EQ(e.python_text(), "RecursionError: values nested more than 300 deep") << n;
        }
    }
}

}  // namespace
}  // namespace minfer::chat::jinja
