// Walks over the parts of statements and expressions.
#pragma once

#include "chat/jinja/ast.h"

namespace minfer::chat::jinja {

// Calls `see(Expr&)` with each direct part that is there, in the order in which Jinja2's nodes list them.
template <typename See>
void for_each_part(const Expr& e, See see) {
    for (const ExprPtr& each : e.operands)
        if (each) see(*each);
    for (const ExprPtr& each : e.arguments.positional) see(*each);
    for (const auto& [name, value] : e.arguments.keyword) see(*value);
    if (e.arguments.star) see(*e.arguments.star);
    if (e.arguments.star_star) see(*e.arguments.star_star);
}

// The direct parts of a statement: expressions to `see`, statements to `enter`.
template <typename See, typename Enter>
void for_each_part(const Stmt& s, See see, Enter enter) {
    const auto all = [&](const Body& body) {
        for (const StmtPtr& each : body) enter(*each);
    };
    if (s.kind == Stmt::Kind::FilterBlock) all(s.body);
    if (s.target) see(*s.target);
    if (s.kind == Stmt::Kind::With)
        for (const ExprPtr& each : s.targets) see(*each);
    if (s.value) see(*s.value);
    for (const ExprPtr& each : s.values) see(*each);
    if (s.macro) {
        for (const Parameter& each : s.macro->parameters)
            if (each.default_value) see(*each.default_value);
        all(s.macro->body);
    }
    if (s.kind != Stmt::Kind::FilterBlock) all(s.body);
    all(s.branches);
    all(s.otherwise);
    if (s.test) see(*s.test);
}

}  // namespace minfer::chat::jinja
