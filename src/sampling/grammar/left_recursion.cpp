#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "sampling/grammar/grammar.h"

namespace minfer::sampling::grammar {
namespace {

using Kind = Expression::Kind;

class Finder {
  public:
    explicit Finder(const Grammar& grammar)
        : grammar_(grammar), nullable_(grammar.rules.size()), state_(nullable_.size()) {
        for (bool changed = true; changed;) {
            changed = false;
            for (size_t r = 0; r < nullable_.size(); ++r) {
                if (nullable_[r] || !nullable(grammar_.rules[r].body)) continue;
                nullable_[r] = changed = true;
            }
        }
    }

    void check() {
        for (RuleId r = 0; r < grammar_.rules.size(); ++r)
            if (state_[r] == State::New) walk(r);
    }

  private:
    enum class State : uint8_t { New, Open, Done };
    struct Step {
        RuleId rule;
        std::vector<RuleId> next;  // rules that may come first within it, yet to be looked at
    };

    bool nullable(ExpressionId id) const {
        const Expression& e = grammar_.expressions[id];
        switch (e.kind) {
            case Kind::Literal:
                return e.bytes.empty();
            case Kind::Class:
            case Kind::Token:
                return false;
            case Kind::Sequence:
                return std::ranges::all_of(e.parts, [&](ExpressionId part) { return nullable(part); });
            case Kind::Choice:
                return std::ranges::any_of(e.parts, [&](ExpressionId part) { return nullable(part); });
            case Kind::Repeat:
                return e.min == 0 || nullable(e.parts[0]);
            case Kind::Rule:
                return nullable_[e.rule];
        }
        return false;
    }

    void add_first(ExpressionId id, std::vector<RuleId>& out) const {
        const Expression& e = grammar_.expressions[id];
        if (e.kind == Kind::Rule) out.push_back(e.rule);
        for (const ExpressionId part : e.parts) {
            add_first(part, out);
            if (e.kind == Kind::Sequence && !nullable(part)) break;
        }
    }

    Step open(RuleId rule) {
        state_[rule] = State::Open;
        Step step{rule, {}};
        add_first(grammar_.rules[rule].body, step.next);
        return step;
    }

    // Depth first, on a list of its own: a chain of rules may be longer than the program's stack.
    void walk(RuleId start) {
        std::vector<Step> path = {open(start)};
        while (!path.empty()) {
            if (path.back().next.empty()) {
                state_[path.back().rule] = State::Done;
                path.pop_back();
                continue;
            }
            const RuleId rule = path.back().next.back();
            path.back().next.pop_back();
            if (state_[rule] == State::Open) refuse(path, rule);
            if (state_[rule] == State::New) path.push_back(open(rule));
        }
    }

    [[noreturn]] void refuse(const std::vector<Step>& path, RuleId rule) const {
        std::string names;
        for (auto step = std::ranges::find(path, rule, &Step::rule); step != path.end(); ++step)
            names += grammar_.rules[step->rule].name + ", ";
        throw UnsupportedError(
            fmt::format("grammar: left recursion, which has no end: {}{}; put a text first, or repeat by *", names,
                        grammar_.rules[rule].name));
    }

    const Grammar& grammar_;
    std::vector<bool> nullable_;
    std::vector<State> state_;
};

}  // namespace

void check_left_recursion(const Grammar& grammar) { Finder(grammar).check(); }

}  // namespace minfer::sampling::grammar
