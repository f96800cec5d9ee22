// What is GBNF and what is not, with the place of the mistake.
#include "sampling/grammar/gbnf_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace minfer::sampling::grammar {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::optional<int32_t> find_token(std::string_view text) {
    return text == "<think>" ? std::optional<int32_t>(7) : std::nullopt;
}

std::string rewritten(std::string_view text) { return to_gbnf(parse_gbnf(text, find_token)); }

TEST(Gbnf, ReadsEverythingItHas) {
    EXPECT_EQ(rewritten("root ::= \"a\\n\\\"\\\\\\x41\\u00e9\\U0001F600\\t\\r\" # a comment\n"),
              "root ::= \"a\\n\\\"\\\\A\\u00E9\\U0001F600\\t\\r\"\n");
    EXPECT_EQ(rewritten("root ::= [a-cx\\-\\]é] [^a] ."),
              "root ::= [\\-\\]a-cx\\u00E9] [\\x01-`b-\\uD7FF\\uE000-\\U0010FFFF] "
              "[\\x01-\\uD7FF\\uE000-\\U0010FFFF]\n");
    EXPECT_EQ(rewritten("root ::= [a-] [-a]"), "root ::= [\\-a] [\\-a]\n");
    EXPECT_EQ(rewritten("root::=a|b c\n\n  a ::= |\n \"x\"\nb::=a\nc ::= ()"),
              "root ::= a | (b c)\na ::= () | \"x\"\nb ::= a\nc ::= \n");
    EXPECT_EQ(rewritten("root ::= (\"a\"\n | \"b\"\n)* \"c\"+ \"d\"? \"e\"{3} \"f\"{2,} \"g\"{ 1 , 4 } \"h\"{0}"),
              "root ::= ((\"a\" | \"b\"){0,}) (\"c\"{1,}) (\"d\"{0,1}) (\"e\"{3,3}) (\"f\"{2,}) (\"g\"{1,4}) "
              "(\"h\"{0,0})\n");
    EXPECT_EQ(rewritten("root ::= <think> !<think> <[12]> !<[13]>"), "root ::= <[7]> !<[7]> <[12]> !<[13]>\n");
    EXPECT_EQ(rewritten("root ::= \"a\"\r\nroot2 ::= root\r\n"), "root ::= \"a\"\nroot2 ::= root\n");
}

TEST(Gbnf, WhatItWritesItReadsAgain) {
    for (const char* text : {"root ::= [^\"\\\\\\x00-\\x1f] | \"\\\\\" [\"\\\\/bfnrt]",
                             "root ::= a{2,5} (\"x\" | )*\na ::= \"é\" | \"^\" | [\\x5e-a]"}) {
        const std::string once = rewritten(text);
        EXPECT_EQ(rewritten(once), once);
    }
}

void fails(std::string_view text, const std::string& message) {
    EXPECT_THAT([&] { parse_gbnf(text, find_token); }, ThrowsMessage<FormatError>(HasSubstr(message))) << text;
}

TEST(Gbnf, MistakesHaveAPlace) {
    fails("", "line 1, column 1: found no rule 'root', expected one, where text starts");
    fails("x ::= \"a\"", "found no rule 'root'");
    fails("root ::= \"a\n  b", "line 2, column 4: found the end, expected '\"'");
    fails("root ::= x\n\ny ::= z", "line 1, column 10: found no rule 'x', expected one for each name");
    fails("root ::= \"a\"\nroot ::= \"b\"", "line 2, column 1: found a second rule 'root'");
    fails("root = \"a\"", "line 1, column 6: found '=', expected '::='");
    fails("root ::= \"a\" )", "line 1, column 14: found ')'");
    fails("root ::= (\"a\"", "line 1, column 14: found the end, expected ')'");
    fails("root ::= a_b", "line 1, column 11: found '_'");
    fails("root ::= \"\\q\"", "line 1, column 11: found '\\q', expected \\x");
    fails("root ::= \"\\x4\"", "line 1, column 14: found '\"', expected 2 hexadecimal digits");
    fails("root ::= \"\\uD800\"", "found '\\uD800', expected a character of Unicode");
    fails("root ::= [a", "line 1, column 12: found the end, expected ']'");
    fails("root ::= []", "line 1, column 10: found '[]', expected at least one character");
    fails("root ::= [^]", "found '[^]'");
    fails("root ::= [z-a]", "line 1, column 11: found 'z-a', expected a range that ascends");
    fails("root ::= *", "line 1, column 10: found '*', expected something to repeat before it");
    fails("root ::= \"a\" | ?", "found '?'");
    fails("root ::= \"a\"{", "found the end, expected how many times at least");
    fails("root ::= \"a\"{3,2}", "found '{3,2}', expected a range that ascends");
    fails("root ::= \"a\"{3;2}", "line 1, column 15: found ';', expected '}'");
    fails("root ::= \"a\"{99999999999}", "expected a smaller number");
    fails("root ::= <no such>", "found '<no such>', expected a token of the vocabulary");
    fails("root ::= <think", "expected '>'");
    fails("root ::= !x", "found 'x', expected '<'");
    fails("root ::= \"\xff\"", "found bytes that are not UTF-8");
    fails("root ::= " + std::string(300, '(') + std::string(300, ')'), "at most 200 parentheses");
}

TEST(Gbnf, LeftRecursionIsNamed) {
    const auto fails_by = [](const char* text, const char* names) {
        EXPECT_THAT([&] { parse_gbnf(text, find_token); }, ThrowsMessage<UnsupportedError>(HasSubstr(names))) << text;
    };
    fails_by("root ::= root \"a\" | \"b\"", "left recursion, which has no end: root, root;");
    fails_by("root ::= \"x\" | expr\nexpr ::= term \"+\" term\nterm ::= expr | \"1\"", "expr, term, expr;");
    fails_by("root ::= ws root\nws ::= \" \"*", "root, root;");
    fails_by("root ::= (\"a\"? root)?", "root, root;");
    EXPECT_NO_THROW(parse_gbnf("root ::= \"a\" root | \"b\" root \"c\" | ws \"x\"\nws ::= \" \"*", find_token));
}

}  // namespace
}  // namespace minfer::sampling::grammar
