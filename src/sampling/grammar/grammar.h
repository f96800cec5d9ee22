// A context-free grammar over text, as its author meant it: rules of expressions. What runs it is automaton.h.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace minfer::sampling::grammar {

struct CodePoints {
    uint32_t first, last;  // both included
    bool operator==(const CodePoints&) const = default;
};

// Ascending, disjoint and not touching.
std::vector<CodePoints> normalized(std::vector<CodePoints> ranges);
// Every other character: U+0001 to U+10FFFF without surrogates. Text has no NUL.
std::vector<CodePoints> complement(const std::vector<CodePoints>& ranges);

using ExpressionId = uint32_t;
using RuleId = uint32_t;

constexpr uint32_t kUnbounded = std::numeric_limits<uint32_t>::max();

struct Expression {
    enum class Kind : uint8_t {
        Literal,   // these bytes
        Class,     // one character of the ranges
        Sequence,  // all parts, in order; none: the empty text
        Choice,    // one of the parts
        Repeat,    // the one part, min to max times
        Rule,      // what the rule says
        Token,     // this token, whatever its text; or, negated, any other that is text
    };
    Kind kind = Kind::Sequence;
    std::string bytes = {};
    std::vector<CodePoints> ranges = {};
    std::vector<ExpressionId> parts = {};
    uint32_t min = 0, max = 0;
    RuleId rule = 0;
    int32_t token = 0;
    bool negated = false;
};

struct Rule {
    std::string name;
    ExpressionId body = 0;
};

struct Grammar {
    std::vector<Expression> expressions;
    std::vector<Rule> rules;
    RuleId root = 0;

    ExpressionId add(Expression e);
    ExpressionId literal(std::string bytes) {
        return add({.kind = Expression::Kind::Literal, .bytes = std::move(bytes)});
    }
    ExpressionId one_of(std::vector<CodePoints> ranges) {
        return add({.kind = Expression::Kind::Class, .ranges = normalized(std::move(ranges))});
    }
    ExpressionId sequence(std::vector<ExpressionId> parts);  // of one part: the part itself; so for a choice
    ExpressionId choice(std::vector<ExpressionId> parts);
    ExpressionId repeat(ExpressionId part, uint32_t min, uint32_t max) {
        return add({.kind = Expression::Kind::Repeat, .parts = {part}, .min = min, .max = max});
    }
    ExpressionId optional(ExpressionId part) { return repeat(part, 0, 1); }
    ExpressionId call(RuleId rule) { return add({.kind = Expression::Kind::Rule, .rule = rule}); }
};

// Throws UnsupportedError for rules that come back to themselves before any text, naming them: "left recursion: expr,
// term, expr".
void check_left_recursion(const Grammar& grammar);

// The grammar as GBNF, which parse_gbnf reads back.
std::string to_gbnf(const Grammar& grammar);

}  // namespace minfer::sampling::grammar
