#include "sampling/grammar/grammar.h"

#include <algorithm>
#include <utility>

namespace minfer::sampling::grammar {

std::vector<CodePoints> normalized(std::vector<CodePoints> ranges) {
    std::ranges::sort(ranges, {}, &CodePoints::first);
    std::vector<CodePoints> out;
    for (const CodePoints& r : ranges) {
        if (!out.empty() && r.first <= out.back().last + 1)
            out.back().last = std::max(out.back().last, r.last);
        else
            out.push_back(r);
    }
    return out;
}

std::vector<CodePoints> complement(const std::vector<CodePoints>& ranges) {
    constexpr CodePoints kSurrogates = {0xD800, 0xDFFF};
    std::vector<CodePoints> taken = ranges;
    taken.push_back({0, 0});
    taken.push_back(kSurrogates);
    std::vector<CodePoints> out;
    uint32_t next = 0;
    for (const CodePoints& r : normalized(std::move(taken))) {
        if (r.first > next) out.push_back({next, r.first - 1});
        next = r.last + 1;
    }
    if (next <= 0x10FFFF) out.push_back({next, 0x10FFFF});
    return out;
}

ExpressionId Grammar::add(Expression e) {
    expressions.push_back(std::move(e));
    return ExpressionId(expressions.size() - 1);
}

ExpressionId Grammar::sequence(std::vector<ExpressionId> parts) {
    if (parts.size() == 1) return parts[0];
    return add({.kind = Expression::Kind::Sequence, .parts = std::move(parts)});
}

ExpressionId Grammar::choice(std::vector<ExpressionId> parts) {
    if (parts.size() == 1) return parts[0];
    return add({.kind = Expression::Kind::Choice, .parts = std::move(parts)});
}

}  // namespace minfer::sampling::grammar
