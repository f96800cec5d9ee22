// Which texts a schema has, which it has not, and which schemas are refused.
#include "sampling/json_schema/json_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sampling/grammar/automaton.h"
#include "sampling/grammar/gbnf_parser.h"
#include "sampling/grammar/machine.h"

namespace minfer::sampling::json_schema {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

bool has(const grammar::Grammar& grammar, std::string_view text) {
    const grammar::Automaton automaton(grammar);
    grammar::Machine machine(automaton);
    grammar::ConfigId at = machine.start();
    for (const char byte : text) at = machine.step(at, uint8_t(byte));
    return machine.can_end(at);
}

void texts(const char* schema, const std::vector<const char*>& valid, const std::vector<const char*>& others) {
    const grammar::Grammar grammar = grammar_of(schema);
    const grammar::Grammar again =
        grammar::parse_gbnf(grammar::to_gbnf(grammar), [](std::string_view) { return std::nullopt; });
    for (const char* text : valid) {
        EXPECT_TRUE(has(grammar, text)) << schema << "\n" << text;
        EXPECT_TRUE(has(again, text)) << "written as GBNF and read again: " << schema << "\n" << text;
    }
    for (const char* text : others) EXPECT_FALSE(has(grammar, text)) << schema << "\n" << text;
}

TEST(JsonSchema, Types) {
    texts(R"({"type": "null"})", {"null"}, {"", "nul", "0", "\"null\""});
    texts(R"({"type": "boolean"})", {"true", "false"}, {"null", "True"});
    texts(R"({"type": "string"})", {R"("")", R"("é日\n\u00e9\uFFFF\"\\\/")"},
          {"\"", "\"\n\"", R"("\x")", R"("\ud800")", "\"\x7f\""});
    texts(R"({"type": "integer"})", {"0", "-1", "999999999999999"}, {"01", "1.0", "+1", "1e3", "-0", "-"});
    texts(R"({"type": "number"})", {"0", "-0.5", "12.25", "1e-9", "3E+10"}, {"01", ".5", "1.", "1e", "NaN"});
    texts(R"({"type": ["integer", "null"]})", {"7", "null"}, {"true"});
    texts(R"({"type": "string", "nullable": true})", {"\"a\"", "null"}, {"1"});
    texts("true", {"null", "[1, {\"a\": [\"b\"]}]", "{}", "1.5", "\"x\""}, {"", "{1:2}"});
    texts("{}", {"null", "{\"a\":{}}"}, {"x"});
}

TEST(JsonSchema, RangesOfIntegers) {
    struct Range {
        const char* schema;
        int first, last;
    };
    for (const Range& r : {Range{R"({"type": "integer", "minimum": 0, "maximum": 9})", 0, 9},
                           {R"({"type": "integer", "minimum": 7, "maximum": 123})", 7, 123},
                           {R"({"type": "integer", "minimum": -45, "maximum": 1015})", -45, 1015},
                           {R"({"type": "integer", "minimum": -999, "maximum": -100})", -999, -100},
                           {R"({"type": "integer", "exclusiveMinimum": -1, "exclusiveMaximum": 1})", 0, 0},
                           {R"({"type": "integer", "minimum": 99.5, "maximum": 205.5})", 100, 205},
                           {R"({"type": "number", "multipleOf": 1, "minimum": 1000, "maximum": 1100})", 1000, 1100},
                           {R"({"type": "integer", "minimum": 5, "exclusiveMinimum": true, "maximum": 8})", 6, 8}}) {
        const grammar::Grammar grammar = grammar_of(r.schema);
        for (int i = -1200; i <= 1200; ++i)
            EXPECT_EQ(has(grammar, std::to_string(i)), r.first <= i && i <= r.last) << r.schema << " " << i;
    }
    texts(R"({"type": "integer", "minimum": 1000000000000000000})", {"1000000000000000000", "1000999999999999999"},
          {"999999999999999999"});
    texts(R"({"type": "integer", "minimum": 3})", {"3", "999999999999999"}, {"2", "-3"});
    texts(R"({"type": "integer", "maximum": -3})", {"-3", "-999999999999999"}, {"-2", "3"});
}

TEST(JsonSchema, RangesOfNumbers) {
    texts(R"({"type": "number", "minimum": 0, "maximum": 1})", {"0", "1", "0.5", "0.999"}, {"1.0", "1.5", "-0.1", "2"});
    texts(R"({"type": "number", "exclusiveMinimum": 0, "maximum": 2})", {"0.01", "1", "1.99", "2"},
          {"0", "0.0", "0.00", "2.1"});
    texts(R"({"type": "number", "minimum": -2.5, "maximum": -1})", {"-1", "-2", "-1.5"}, {"-0.5", "-3", "1", "-2.6"});
    texts(R"({"type": "number", "minimum": -1, "maximum": 1})", {"-1", "-0.25", "0", "0.25", "1"}, {"-1.5", "1.5"});
    texts(R"({"type": "number", "exclusiveMaximum": 0})", {"-0.5", "-7"}, {"0", "-0", "-0.0"});
}

TEST(JsonSchema, Strings) {
    texts(R"({"type": "string", "minLength": 2, "maxLength": 3})",
          {R"("ab")", R"("é日x")", R"("\n\"")", R"("\u00e9ab")"}, {R"("a")", R"("abcd")", R"("\n")"});
    texts(R"({"type": "string", "minLength": 3})", {R"("abc")", R"("abcdefghijkl")"}, {R"("ab")"});
    texts(R"({"type": "string", "format": "date"})",
          {R"("2024-02-29")", R"("2023-12-31")", R"("0001-01-01")", R"("2000-02-29")"},
          {R"("2023-02-29")", R"("1900-02-29")", R"("2023-04-31")", R"("0000-01-01")", R"("2023-13-01")",
           R"("2023-00-10")", R"("2023-01-00")"});
    texts(R"({"type": "string", "format": "time"})", {R"("23:59:59Z")", R"("00:00:00.5+01:30")"},
          {R"("24:00:00Z")", R"("12:00:00")", R"("12:60:00Z")"});
    texts(R"({"type": "string", "format": "date-time"})", {R"("2024-02-29T12:00:00Z")"}, {R"("2024-02-29")"});
    texts(R"({"format": "uuid"})", {R"("123e4567-e89b-12d3-a456-426614174000")"},
          {R"("123e4567e89b12d3a456426614174000")"});
}

TEST(JsonSchema, Patterns) {
    texts(R"({"pattern": "^[a-c]+$"})", {R"("abc")"}, {R"("")", R"("abd")", "1"});
    texts(R"({"pattern": "b"})", {R"("b")", R"("abc")"}, {R"("ac")"});
    texts(R"({"pattern": "^a|b$"})", {R"("ax")", R"("xb")", R"("a")"}, {R"("xax")", R"("xbx")"});
    texts(R"({"pattern": "^(?:x|yz){2,3}?$"})", {R"("xx")", R"("xyzx")"}, {R"("x")", R"("xxxx")"});
    texts(R"({"pattern": "^\\d{3}-\\w\\s.$"})", {R"("123-a é")", R"("123-_\tx")"},
          {R"("12a-a é")", R"("123-- x")", R"("123-a \n")"});
    texts(R"({"pattern": "^[^\"]\\\\\\x41\\u00e9[\\]\\-x]$"})", {R"("a\\Aé-")", R"("é\\Aé]")"},
          {R"("\"\\Aé-")", R"("a\\Aéy")"});
    texts(R"({"pattern": "^[\\n\"]$"})", {R"("\n")", R"("\"")"}, {"\"\n\""});
    texts(R"({"pattern": "^[a-z]{2,4}$", "minLength": 1, "maxLength": 4})", {R"("ab")"}, {R"("a")"});
    texts(R"({"pattern": "^(?<year>[0-9]{4})$"})", {R"("2024")"}, {R"("20245")"});
}

TEST(JsonSchema, EnumsAndConstants) {
    texts(R"({"enum": ["a", 1, null, [1, 2], {"b": "é"}]})", {R"("a")", "1", "null", "[1,2]", R"({"b":"é"})"},
          {"2", "\"b\""});
    texts(R"({"const": "x\"y"})", {R"("x\"y")"}, {"\"x\""});
    texts(R"({"type": "string", "enum": ["a", 1, "b"]})", {"\"a\"", "\"b\""}, {"1"});
    texts(R"({"enum": ["a", "b"], "const": "b"})", {"\"b\""}, {"\"a\""});
}

TEST(JsonSchema, Arrays) {
    texts(R"({"type": "array", "items": {"type": "integer"}})", {"[]", "[1]", "[1,2, 3]", "[ 1,\n  2\n]"},
          {"[1,]", "[\"a\"]", "[,1]", "[1  ,2]"});
    texts(R"({"items": {"const": 1}, "minItems": 2, "maxItems": 3})", {"[1,1]", "[1,1,1]"}, {"[]", "[1]", "[1,1,1,1]"});
    texts(R"({"items": {"const": 1}, "maxItems": 0})", {"[]"}, {"[1]"});
    texts(R"({"prefixItems": [{"const": 1}, {"const": 2}]})", {"[1,2]"}, {"[1]", "[1,2,3]", "[2,1]"});
    texts(R"({"prefixItems": [{"const": 1}], "items": {"const": 2}})", {"[1]", "[1,2,2]"}, {"[]", "[1,1]"});
    texts(R"({"items": [{"const": 1}], "additionalItems": {"const": 2}, "maxItems": 2})", {"[1]", "[1,2]"},
          {"[1,2,2]"});
    texts(R"({"prefixItems": [{"const": 1}], "items": false})", {"[1]"}, {"[1,1]"});
    texts(R"({"type": "array"})", {"[]", "[1,\"a\",{}]"}, {"{}"});
    texts(R"({"type": "array", "items": {"type": "array", "items": {"type": "null"}, "minItems": 1}, "minItems": 1})",
          {"[[null],[null,null]]"}, {"[]", "[[]]"});
}

TEST(JsonSchema, Objects) {
    const char* two =
        R"({"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}}, "required": ["b"]})";
    texts(two,
          {R"({"b":2})", R"({"a":1,"b":2})", R"({"b":2,"c":3})", R"({"a": 1, "b": 2, "c": 3})", "{\n  \"b\": 2\n}"},
          {"{}", R"({"a":1})", R"({"b":2,"a":1})", R"({"b":2,})", R"({"b":2,"d":4})", R"({,"b":2})"});
    texts(R"({"properties": {"a": {"const": 1}, "b": {"const": 2}}})",
          {"{}", R"({"a":1})", R"({"b":2})", R"({"a":1,"b":2})"}, {R"({"a":1"b":2})", "[]"});
    texts(R"({"type": "object", "additionalProperties": {"type": "integer"}})", {"{}", R"({"x":1,"y":2})", R"({"":0})"},
          {R"({"x":"a"})", R"({x:1})"});
    texts(R"({"type": "object", "additionalProperties": false})", {"{}"}, {R"({"x":1})"});
    texts(R"({"type": "object"})", {"{}", R"({"x":[1,{"y":null}]})"}, {"[]"});
    texts(R"({"properties": {"ab": {"const": 1}, "ax": {"const": 2}}, "additionalProperties": {"type": "string"}})",
          {R"({"ab":1,"a":"s","abc":"s","x":"t"})", R"({"q":"s"})", R"({"ax":2,"ay":"s"})"},
          {R"({"ab":"s"})", R"({"q":"s","ax":"s"})", R"({"\u0061b":"s"})"});
    texts(R"({"type": "object", "required": ["x"], "additionalProperties": {"type": "null"}})",
          {R"({"x":null})", R"({"x":null,"y":null})"}, {"{}", R"({"y":null})", R"({"x":1})"});
    texts(R"({"properties": {"a": {"const": 1}}, "required": ["a"], "minProperties": 1, "maxProperties": 3})",
          {R"({"a":1})"}, {"{}"});
    texts(R"({"type": "object", "maxProperties": 1, "additionalProperties": {"const": 1}})", {"{}", R"({"a":1})"},
          {R"({"a":1,"b":1})"});
    texts(R"({"properties": {"q\"": {"const": 1}, "é": false}})", {R"({"q\"":1})", "{}"}, {R"({"é":1})"});
}

TEST(JsonSchema, Combinations) {
    texts(R"({"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 1}]})", {"1", "\"a\""},
          {"\"ab\"", "null"});
    texts(
        R"({"type": "object", "properties": {"k": {"const": "x"}}, "required": ["k"], "anyOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]}, {"properties": {"b": {"const": 2}}, "required": ["b"]}]})",
        {R"({"k":"x","a":1})", R"({"k":"x","b":2})"}, {R"({"k":"x"})", R"({"a":1})"});
    texts(
        R"({"allOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"properties": {"a": {"minimum": 5}, "b": {"const": 1}}}]})",
        {R"({"a":5})", R"({"a":6,"b":1})"}, {R"({"a":4})", R"({"b":1})"});
    texts(
        R"({"allOf": [{"properties": {"a": {"const": 1}}, "additionalProperties": false}, {"properties": {"b": {"const": 2}}}]})",
        {"{}", R"({"a":1})"}, {R"({"b":2})", R"({"a":1,"b":2})"});
    texts(R"({"oneOf": [{"type": "integer"}, {"type": "string"}, {"enum": [null, true]}]})", {"1", "\"\"", "true"},
          {"false"});
    texts(
        R"({"oneOf": [{"properties": {"t": {"const": "a"}, "x": {"type": "integer"}}, "required": ["t", "x"]}, {"properties": {"t": {"const": "b"}}, "required": ["t"]}]})",
        {R"({"t":"a","x":1})", R"({"t":"b"})"}, {R"({"t":"a"})"});
    texts(R"({"anyOf": [{"type": "integer"}, {"type": "string"}], "allOf": [{"type": ["string", "null"]}]})", {"\"a\""},
          {"1", "null"});
    texts(R"({"anyOf": [{"minimum": 3}, {"maximum": -3}], "oneOf": [{"type": "integer"}, {"type": "null"}]})",
          {"3", "-3", "null"}, {"0", "3.5"});
}

TEST(JsonSchema, References) {
    texts(R"({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}})", {"1"}, {"\"a\""});
    texts(R"({"properties": {"v": {"type": "integer"}, "next": {"$ref": "#"}}, "required": ["v"]})",
          {R"({"v":1})", R"({"v":1,"next":{"v":2,"next":{"v":3}}})"}, {R"({"v":1,"next":{}})"});
    texts(R"({"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#"}}]})", {"null", "[[],[null,[null]]]"},
          {"[1]"});
    texts(R"({"$ref": "#/$defs/a~1b", "minimum": 2, "$defs": {"a/b": {"type": "integer"}}})", {"2"}, {"1"});
    texts(R"({"items": {"$ref": "#/$defs/list/1"}, "$defs": {"list": [{"const": 1}, {"const": 2}]}})", {"[2]"},
          {"[1]"});
    texts(R"({"allOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}], "$defs": {"n": {"type": "null"}}})", {"null"},
          {"1"});
}

template <class E>
void refused(const char* schema, const char* message) {
    EXPECT_THAT([&] { grammar_of(schema); }, ThrowsMessage<E>(HasSubstr(message))) << schema;
}

TEST(JsonSchema, RefusesByName) {
    for (const char* keyword : {"not", "if", "contains", "patternProperties", "propertyNames", "dependentRequired",
                                "uniqueItems", "unevaluatedItems", "$dynamicRef", "minContains", "frobnicate"})
        refused<UnsupportedError>(
            (std::string(R"({"properties": {"a": {")") + keyword + R"(": {"a": true}}}})").c_str(),
            (std::string("#/properties/a: the keyword '") + keyword + "' is not done").c_str());
    EXPECT_NO_THROW(grammar_of(
        R"({"uniqueItems": false, "title": "t", "description": "d", "default": 1, "x-order": 3, "$comment": "c", "examples": []})"));
    refused<UnsupportedError>(R"({"multipleOf": 0.5})", "'multipleOf' is done for 1 alone");
    refused<UnsupportedError>(R"({"format": "email"})",
                              "#: the format 'email' is not done; date, time, date-time and uuid are");
    refused<UnsupportedError>(R"({"$ref": "other.json#/a"})", "#/$ref: 'other.json#/a' is not done");
    refused<UnsupportedError>(R"({"$ref": "#"})", "refers to itself");
    refused<UnsupportedError>(R"({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}})",
                              "refers to itself");
    refused<UnsupportedError>(R"({"anyOf": [{"type": "null"}, {"$ref": "#"}]})", "refers to itself");
    refused<UnsupportedError>(R"({"oneOf": [{"type": "integer"}, {"type": "number"}]})",
                              "#/oneOf/0: one value may be valid under #/oneOf/1 too");
    refused<UnsupportedError>(
        R"({"oneOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "string"}}}]})",
        "#/oneOf/0");
    refused<UnsupportedError>(R"({"enum": ["abc"], "maxLength": 2})", "'enum' and 'const' beside other keywords");
    refused<UnsupportedError>(R"({"type": "object", "minProperties": 1})",
                              "'minProperties' is done where as many are required");
    refused<UnsupportedError>(R"({"pattern": "^a", "maxLength": 2})", "beside a pattern");
    refused<UnsupportedError>(R"({"pattern": "a", "format": "date"})", "more than one 'pattern' or 'format'");
    for (const auto& [pattern, what] :
         std::vector<std::pair<const char*, const char*>>{{"(?=a)", "look-ahead"},
                                                          {"(?<!a)", "look-behind"},
                                                          {"(a)\\\\1", "a back reference"},
                                                          {"\\\\bx", "\\b is"},
                                                          {"\\\\p{L}", "\\p is"},
                                                          {"a^b", "an anchor in the middle"},
                                                          {"(^a)", "an anchor"}})
        refused<UnsupportedError>((std::string(R"({"pattern": ")") + pattern + "\"}").c_str(), what);
    for (const char* pattern : {"(", ")", "[a", "a{2", "a{3,2}", "*", "a**", "[z-a]", "a\\\\"})
        refused<FormatError>((std::string(R"({"pattern": ")") + pattern + "\"}").c_str(), "#/pattern, at character");
    refused<UnsupportedError>(R"({"type": "integer", "minimum": 3, "maximum": 2})", "no value is valid");
    refused<UnsupportedError>("false", "no value is valid");
    refused<UnsupportedError>(R"({"type": "string", "enum": [1]})", "no value is valid");
}

TEST(JsonSchema, RefusesWhatIsNoSchema) {
    refused<FormatError>("{", "text");
    refused<FormatError>("3", "#: found 3, expected an object, true or false");
    refused<FormatError>(R"({"type": "int"})", "#/type: found \"int\", expected null, boolean");
    refused<FormatError>(R"({"type": 3})", "#/type");
    refused<FormatError>(R"({"required": "a"})", "#/required");
    refused<FormatError>(R"({"properties": {"a": {"minLength": -1}}})",
                         "#/properties/a/minLength: found -1, expected a whole number");
    refused<FormatError>(R"({"minimum": "1"})", "#/minimum");
    refused<FormatError>(R"({"enum": []})", "#/enum");
    refused<FormatError>(R"({"anyOf": {}})", "#/anyOf");
    refused<FormatError>(R"({"$ref": "#/$defs/x"})", "#/$ref: found \"#/$defs/x\", expected the path of something");
    refused<FormatError>(R"({"items": 3})", "#/items: found 3");
}

// Deep and wide ones end in an error or a grammar, not in a crash.
TEST(JsonSchema, LargeSchemas) {
    std::string deep;
    for (int i = 0; i < 900; ++i) deep += R"({"items":)";
    deep += "true" + std::string(900, '}');
    refused<UnsupportedError>(deep.c_str(), "too large");
    for (const char* keyword : {"const", "minLength", "enum"}) {
        const std::string lists = std::string(1'000'000, '[') + std::string(1'000'000, ']');
        refused<UnsupportedError>((std::string("{\"") + keyword + "\":" + lists + "}").c_str(), "more than 1000 deep");
    }
    std::string groups = R"({"allOf":[)";
    for (int i = 0; i < 30; ++i) groups += std::string(i ? "," : "") + R"({"anyOf":[{"minimum":1},{"maximum":9}]})";
    groups += "]}";
    refused<UnsupportedError>(groups.c_str(), "too large");
    std::string wide = R"({"properties":{)";
    for (int i = 0; i < 500; ++i)
        wide += std::string(i ? "," : "") + "\"p" + std::to_string(i) + R"(":{"type":"null"})";
    wide += "}}";
    const grammar::Grammar grammar = grammar_of(wide);
    EXPECT_TRUE(has(grammar, R"({"p3":null,"p499":null})"));
    EXPECT_FALSE(has(grammar, R"({"p499":null,"p3":null})"));
}

}  // namespace
}  // namespace minfer::sampling::json_schema
