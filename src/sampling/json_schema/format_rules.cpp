// The formats of strings: RFC 3339's dates and times, RFC 4122's UUIDs.
#include <string_view>

#include "sampling/json_schema/text_rules.h"

namespace minfer::sampling::json_schema {
namespace {

using grammar::ExpressionId;

}  // namespace

// Days that there are: 30 and 31 where the month has them, February 29 in leap years. Years from 0001.
ExpressionId TextRules::date() {
    return rule("date", [&] {
        auto& g = grammar_;
        const auto d = [&](char from, char to) { return digit(from, to); };
        const auto all_of = [&](std::vector<ExpressionId> parts) { return g.sequence(std::move(parts)); };
        const auto one_of = [&](std::vector<ExpressionId> parts) { return g.choice(std::move(parts)); };
        const ExpressionId any = d('0', '9'), not_zero = d('1', '9');
        // Multiples of 4 but 0, of two digits; then years, which the calendar's rule makes leap years.
        const ExpressionId fours =
            one_of({all_of({g.literal("0"), g.one_of({{'4', '4'}, {'8', '8'}})}),
                    all_of({g.one_of({{'2', '2'}, {'4', '4'}, {'6', '6'}, {'8', '8'}}),
                            g.one_of({{'0', '0'}, {'4', '4'}, {'8', '8'}})}),
                    all_of({g.one_of({{'1', '1'}, {'3', '3'}, {'5', '5'}, {'7', '7'}, {'9', '9'}}),
                            g.one_of({{'2', '2'}, {'6', '6'}})})});
        const ExpressionId leap = one_of({all_of({any, any, fours}), all_of({fours, g.literal("00")})});
        const ExpressionId year =
            one_of({all_of({not_zero, any, any, any}), all_of({g.literal("0"), not_zero, any, any}),
                    all_of({g.literal("00"), not_zero, any}), all_of({g.literal("000"), not_zero})});
        const ExpressionId to_28 = one_of(
            {all_of({g.literal("0"), not_zero}), all_of({g.literal("1"), any}), all_of({g.literal("2"), d('0', '8')})});
        const ExpressionId month = one_of({all_of({g.literal("0"), not_zero}), all_of({g.literal("1"), d('0', '2')})});
        const ExpressionId not_february = one_of(
            {all_of({g.literal("0"), g.one_of({{'1', '1'}, {'3', '9'}})}), all_of({g.literal("1"), d('0', '2')})});
        const ExpressionId long_month =
            one_of({all_of({g.literal("0"), g.one_of({{'1', '1'}, {'3', '3'}, {'5', '5'}, {'7', '8'}})}),
                    all_of({g.literal("1"), g.one_of({{'0', '0'}, {'2', '2'}})})});
        const ExpressionId days = one_of({all_of({month, g.literal("-"), to_28}),
                                          all_of({not_february, one_of({g.literal("-29"), g.literal("-30")})}),
                                          all_of({long_month, g.literal("-31")})});
        return one_of({all_of({year, g.literal("-"), days}), all_of({leap, g.literal("-02-29")})});
    });
}

// hh:mm:ss with an offset, as RFC 3339's full-time; no leap seconds.
ExpressionId TextRules::time() {
    return rule("time", [&] {
        auto& g = grammar_;
        const ExpressionId any = digit('0', '9');
        const ExpressionId hour =
            g.choice({g.sequence({digit('0', '1'), any}), g.sequence({g.literal("2"), digit('0', '3')})});
        const ExpressionId sixty = g.sequence({g.literal(":"), digit('0', '5'), any});
        const ExpressionId fraction = g.sequence({g.literal("."), digits(1, 6)});
        const ExpressionId offset = g.sequence({g.one_of({{'+', '+'}, {'-', '-'}}), hour, sixty});
        return g.sequence({hour, sixty, sixty, g.optional(fraction), g.choice({g.literal("Z"), offset})});
    });
}

ExpressionId TextRules::uuid() {
    return rule("uuid", [&] {
        auto& g = grammar_;
        const auto hex = [&](uint32_t n) { return g.repeat(g.one_of({{'0', '9'}, {'a', 'f'}, {'A', 'F'}}), n, n); };
        const ExpressionId dash = g.literal("-");
        return g.sequence({hex(8), dash, hex(4), dash, hex(4), dash, hex(4), dash, hex(12)});
    });
}

std::optional<ExpressionId> TextRules::format(std::string_view name) {
    if (name == "date") return quoted(date());
    if (name == "time") return quoted(time());
    if (name == "date-time") return quoted(grammar_.sequence({date(), grammar_.literal("T"), time()}));
    if (name == "uuid") return quoted(uuid());
    return std::nullopt;
}

}  // namespace minfer::sampling::json_schema
