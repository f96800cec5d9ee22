// The numbers of a range, digit by digit.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "sampling/json_schema/text_rules.h"

namespace minfer::sampling::json_schema {
namespace {

using grammar::ExpressionId;

// Where no bound says otherwise: integers that a double holds exactly, and fractions as long as it has digits.
constexpr uint64_t kLargest = 999'999'999'999'999;
constexpr uint32_t kMostDecimals = 15;
constexpr uint32_t kMostExponent = 2;  // digits: far from a double's limits
constexpr double kLargestBound = 9e18;

uint64_t power_of_ten(size_t n) {
    uint64_t p = 1;
    while (n-- > 0) p *= 10;
    return p;
}

double least_integer(const Bound& b) {
    return b.exclusive && b.value == std::ceil(b.value) ? b.value + 1 : std::ceil(b.value);
}
double largest_integer(const Bound& b) {
    return b.exclusive && b.value == std::floor(b.value) ? b.value - 1 : std::floor(b.value);
}

std::string shown(const std::optional<Bound>& b) {
    return b ? fmt::format("{}{}", b->value, b->exclusive ? "x" : "") : "any";
}

// The name of a rule has letters, digits and hyphens.
std::string name_of(const char* kind, const std::optional<Bound>& minimum, const std::optional<Bound>& maximum) {
    std::string name = fmt::format("{}-{}-to-{}", kind, shown(minimum), shown(maximum));
    for (char& c : name)
        if (c == '.' || c == '+') c = c == '.' ? 'p' : 'e';
    return minimum || maximum ? name : kind;
}

}  // namespace

ExpressionId TextRules::digit(char from, char to) { return grammar_.one_of({{uint32_t(from), uint32_t(to)}}); }

ExpressionId TextRules::digits(uint32_t min, uint32_t max) { return grammar_.repeat(digit('0', '9'), min, max); }

// Numbers of as many digits as both ends have.
ExpressionId TextRules::same_length(std::string_view from, std::string_view to) {
    if (from.size() == 1) return digit(from[0], to[0]);
    const std::string_view from_rest = from.substr(1), to_rest = to.substr(1);
    if (from[0] == to[0]) return grammar_.sequence({digit(from[0], from[0]), same_length(from_rest, to_rest)});
    const std::string zeros(from_rest.size(), '0'), nines(from_rest.size(), '9');
    std::vector<ExpressionId> choices;
    char first = from[0], last = to[0];  // first digits after which anything goes
    if (from_rest != zeros) {
        choices.push_back(grammar_.sequence({digit(first, first), same_length(from_rest, nines)}));
        ++first;
    }
    if (to_rest != nines) {
        choices.push_back(grammar_.sequence({digit(last, last), same_length(zeros, to_rest)}));
        --last;
    }
    const auto n = uint32_t(from_rest.size());
    if (first <= last) choices.push_back(grammar_.sequence({digit(first, last), digits(n, n)}));
    return grammar_.choice(std::move(choices));
}

ExpressionId TextRules::whole(uint64_t from, uint64_t to) {
    std::vector<ExpressionId> choices;
    for (size_t length = std::to_string(from).size(); length <= std::to_string(to).size(); ++length) {
        const uint64_t low = std::max(from, length == 1 ? 0 : power_of_ten(length - 1));
        const uint64_t high = std::min(to, power_of_ten(length) - 1);
        choices.push_back(same_length(std::to_string(low), std::to_string(high)));
    }
    return grammar_.choice(std::move(choices));
}

std::optional<ExpressionId> TextRules::integer(std::optional<Bound> minimum, std::optional<Bound> maximum) {
    const double low = minimum ? std::max(least_integer(*minimum), -kLargestBound) : -double(kLargest);
    const double high = maximum ? std::min(largest_integer(*maximum), kLargestBound) : double(kLargest);
    // One bound beyond the largest number that is written without it: a few from there on.
    const double last = maximum ? high : std::max(high, std::min(low + double(kLargest), kLargestBound));
    const double first = minimum ? low : std::min(low, std::max(high - double(kLargest), -kLargestBound));
    if (first > last) return std::nullopt;
    return rule(name_of("integer", minimum, maximum), [&] {
        std::vector<ExpressionId> choices;
        if (last >= 0) choices.push_back(whole(uint64_t(std::max(first, 0.0)), uint64_t(last)));
        if (first < 0)
            choices.push_back(
                grammar_.sequence({grammar_.literal("-"), whole(uint64_t(-std::min(last, -1.0)), uint64_t(-first))}));
        return grammar_.choice(std::move(choices));
    });
}

// Numbers of [least, most], both 0 or more.
std::vector<ExpressionId> TextRules::magnitudes(Bound least, Bound most, bool negative) {
    std::vector<ExpressionId> choices;
    const double first = least_integer(least), last = largest_integer(most);
    const double first_whole = negative ? std::max(first, 1.0) : first;  // -0 is 0
    if (first_whole <= last) choices.push_back(whole(uint64_t(first_whole), uint64_t(last)));
    const double end = std::floor(most.value);  // i.5 is below i + 1, which must not lie beyond
    if (first <= end - 1)
        choices.push_back(grammar_.sequence(
            {whole(uint64_t(first), uint64_t(end - 1)), grammar_.literal("."), digits(1, kMostDecimals)}));
    if (least.exclusive && least.value == std::floor(least.value) && least.value + 1 <= end)
        choices.push_back(grammar_.sequence({grammar_.literal(fmt::format("{}.", uint64_t(least.value))),
                                             digits(0, kMostDecimals - 1), digit('1', '9')}));
    return choices;
}

std::optional<ExpressionId> TextRules::number(std::optional<Bound> minimum, std::optional<Bound> maximum) {
    if (!minimum && !maximum) {
        return rule("number", [&] {
            const ExpressionId fraction = grammar_.sequence({grammar_.literal("."), digits(1, kMostDecimals)});
            const ExpressionId exponent = grammar_.sequence(
                {grammar_.one_of({{'e', 'e'}, {'E', 'E'}}),
                 grammar_.optional(grammar_.one_of({{'+', '+'}, {'-', '-'}})), digits(1, kMostExponent)});
            return grammar_.sequence({grammar_.optional(grammar_.literal("-")), whole(0, kLargest),
                                      grammar_.optional(fraction), grammar_.optional(exponent)});
        });
    }
    constexpr double kFar = 1e15;
    const Bound low = minimum.value_or(Bound{-kFar}), high = maximum.value_or(Bound{kFar});
    if (low.value > kFar || high.value < -kFar) return std::nullopt;
    const Bound first = low.value < -kFar ? Bound{-kFar} : low, last = high.value > kFar ? Bound{kFar} : high;
    std::vector<ExpressionId> choices;
    if (last.value >= 0) choices = magnitudes(first.value < 0 ? Bound{0} : first, last, false);
    if (first.value < 0) {
        const Bound least =
            last.value < 0 ? Bound{-last.value, last.exclusive} : Bound{0, last.value == 0 && last.exclusive};
        std::vector<ExpressionId> negative = magnitudes(least, {-first.value, first.exclusive}, true);
        if (!negative.empty())
            choices.push_back(grammar_.sequence({grammar_.literal("-"), grammar_.choice(std::move(negative))}));
    }
    if (choices.empty()) return std::nullopt;
    return rule(name_of("number", minimum, maximum), [&] { return grammar_.choice(std::move(choices)); });
}

}  // namespace minfer::sampling::json_schema
