#include "sampling/json_schema/text_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "sampling/json_schema/pattern.h"
#include "tokenizer/utf8.h"

namespace minfer::sampling::json_schema {
namespace {

using grammar::CodePoints;
using grammar::ExpressionId;
using grammar::Grammar;
using grammar::kUnbounded;

// Spaces at the start of a line: enough for what people write, and no endless run of them.
constexpr uint32_t kMostIndent = 20;

// Strings that have a limit have this one at most: each character up to it takes states of the automaton.
constexpr size_t kLongestString = 4000;

uint32_t times(size_t n) { return n >= kUnbounded ? kUnbounded : uint32_t(n); }

// What a JSON string may hold as it is: all but quotes, backslashes and controls.
std::vector<CodePoints> plain_characters() {
    return grammar::complement({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}, {0x7F, 0x7F}});
}

std::vector<CodePoints> common(const std::vector<CodePoints>& a, const std::vector<CodePoints>& b) {
    std::vector<CodePoints> out;
    for (const CodePoints& x : a)
        for (const CodePoints& y : b)
            if (std::max(x.first, y.first) <= std::min(x.last, y.last))
                out.push_back({std::max(x.first, y.first), std::min(x.last, y.last)});
    return out;
}

std::vector<uint32_t> characters_of(std::string_view text) {
    std::vector<uint32_t> out;
    while (!text.empty()) {
        const size_t n = tokenizer::first_sequence(text).length;
        out.push_back(decode_utf8(text.substr(0, n)));
        text.remove_prefix(n);
    }
    return out;
}

}  // namespace

ExpressionId string_character(Grammar& g, const std::vector<CodePoints>& characters) {
    std::vector<ExpressionId> choices;
    if (const std::vector<CodePoints> plain = common(characters, plain_characters()); !plain.empty())
        choices.push_back(g.one_of(plain));
    const auto add = [&](uint32_t c, std::string spelled) {
        const auto has = [&](const CodePoints& r) { return r.first <= c && c <= r.last; };
        if (std::ranges::any_of(characters, has)) choices.push_back(g.literal(std::move(spelled)));
    };
    add('"', "\\\"");
    add('\\', "\\\\");
    for (uint32_t c = 0; c < 0x20; ++c) {
        constexpr std::string_view kShort = "btn?fr";  // 8 to 13
        if (c >= 8 && c <= 13 && c != 11)
            add(c, std::string{'\\', kShort[c - 8]});
        else
            add(c, fmt::format("\\u{:04x}", c));
    }
    add(0x7F, "\\u007f");
    return g.choice(std::move(choices));
}

ExpressionId TextRules::rule(const std::string& name, const Make& make) {
    if (const auto known = known_.find(name); known != known_.end()) return known->second;
    const auto id = grammar::RuleId(grammar_.rules.size());
    grammar_.rules.push_back({name});
    const ExpressionId body = make();
    grammar_.rules[id].body = body;
    return known_[name] = grammar_.call(id);
}

ExpressionId TextRules::space() {
    return rule("space", [&] {
        return grammar_.optional(grammar_.choice(
            {grammar_.literal(" "),
             grammar_.sequence({grammar_.literal("\n"), grammar_.repeat(grammar_.literal(" "), 0, kMostIndent)})}));
    });
}

ExpressionId TextRules::quoted(ExpressionId inner) {
    return grammar_.sequence({grammar_.literal("\""), inner, grammar_.literal("\"")});
}

ExpressionId TextRules::string(size_t min, size_t max) {
    max = std::max(min, std::min(max, times(max) == kUnbounded ? max : kLongestString));
    const std::string name = min == 0 && times(max) == kUnbounded ? "string"
                             : times(max) == kUnbounded           ? fmt::format("string-{}", min)
                                                                  : fmt::format("string-{}-{}", min, max);
    return rule(name, [&] {
        // Escapes of halves of surrogate pairs are left out: alone they are no text.
        const ExpressionId hex = grammar_.one_of({{'0', '9'}, {'a', 'f'}, {'A', 'F'}});
        const ExpressionId four = grammar_.choice(
            {grammar_.sequence(
                 {grammar_.one_of({{'0', '9'}, {'a', 'c'}, {'e', 'f'}, {'A', 'C'}, {'E', 'F'}}), hex, hex, hex}),
             grammar_.sequence({grammar_.one_of({{'d', 'd'}, {'D', 'D'}}), digit('0', '7'), hex, hex})});
        const ExpressionId one = grammar_.one_of(
            {{'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}});
        const ExpressionId escape = grammar_.sequence(
            {grammar_.literal("\\"), grammar_.choice({one, grammar_.sequence({grammar_.literal("u"), four})})});
        const ExpressionId character = grammar_.choice({grammar_.one_of(plain_characters()), escape});
        return quoted(grammar_.repeat(character, times(min), times(max)));
    });
}

ExpressionId TextRules::pattern(const std::string& expression, const std::string& path, size_t min, size_t max) {
    return rule(fmt::format("pattern-{}", known_.size()), [&] {
        const Pattern parsed = parse_pattern(grammar_, expression, path);
        if (parsed.shortest < min || parsed.longest > max)
            throw UnsupportedError(
                fmt::format("JSON schema: {}: 'minLength' and 'maxLength' beside a pattern are done where its texts "
                            "have such lengths "
                            "anyway, as those of '^[a-z]{{{},{}}}$'",
                            path, min, max > 99 ? 99 : max));
        return quoted(parsed.expression);
    });
}

// The names that do not go on, from this character, as one of those known does: another character, or an end where no
// name ends.
ExpressionId TextRules::names_below(const std::vector<std::string>& names, size_t at) {
    std::map<uint32_t, std::vector<std::string>> below;
    bool is_name = false;
    std::vector<CodePoints> taken = {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}, {0x7F, 0x7F}};
    for (const std::string& name : names) {
        const std::vector<uint32_t> characters = characters_of(name);
        if (characters.size() == at) {
            is_name = true;
        } else {
            below[characters[at]].push_back(name);
            taken.push_back({characters[at], characters[at]});
        }
    }
    const ExpressionId any = grammar_.one_of(plain_characters());
    std::vector<ExpressionId> choices = {grammar_.sequence(
        {grammar_.one_of(grammar::complement(grammar::normalized(taken))), grammar_.repeat(any, 0, kUnbounded)})};
    for (const auto& [c, rest] : below) {
        // A name with such a character cannot come up, for these are written by escapes alone.
        if (c < 0x20 || c == '"' || c == '\\' || c == 0x7F) continue;
        choices.push_back(grammar_.sequence({grammar_.one_of({{c, c}}), names_below(rest, at + 1)}));
    }
    if (!is_name) choices.push_back(grammar_.sequence({}));
    return grammar_.choice(std::move(choices));
}

ExpressionId TextRules::name_except(const std::vector<std::string>& names) {
    std::string key = "name";
    for (const std::string& name : names) key += "/" + name;
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    const ExpressionId made = rule(fmt::format("name-{}", known_.size()), [&] {
        if (names.empty()) return quoted(grammar_.repeat(grammar_.one_of(plain_characters()), 0, kUnbounded));
        return quoted(names_below(names, 0));
    });
    return known_[key] = made;
}

}  // namespace minfer::sampling::json_schema
