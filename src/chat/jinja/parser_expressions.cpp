// Expressions, from the loosest binding to the tightest.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "chat/jinja/error.h"
#include "chat/jinja/parser.h"

namespace minfer::chat::jinja {
namespace {

constexpr int kMaxHeight = 1000;  // of an expression's tree: what evaluates it recurses

ExprPtr make(Expr::Kind kind, Position position) { return std::make_unique<Expr>(kind, position); }

ExprPtr constant(Value value, Position position) {
    ExprPtr e = make(Expr::Kind::Const, position);
    e->value = std::move(value);
    return e;
}

// The class of the node in Jinja2, as its message about a target names it.
std::string_view node_name(const Expr& e) {
    switch (e.kind) {
        case Expr::Kind::Const:
            return "const";
        case Expr::Kind::Name:
            return "name";
        case Expr::Kind::List:
            return "list";
        case Expr::Kind::Dict:
            return "dict";
        case Expr::Kind::Tuple:
            return "tuple";
        default:
            return "expr";
    }
}

bool can_assign(const Expr& e) {
    switch (e.kind) {
        case Expr::Kind::Name:
            return e.name != "true" && e.name != "false" && e.name != "none" && e.name != "True" && e.name != "False" &&
                   e.name != "None";
        case Expr::Kind::NsRef:
            return true;
        case Expr::Kind::Tuple:
            return std::ranges::all_of(e.operands, [](const ExprPtr& each) { return can_assign(*each); });
        default:
            return false;
    }
}

void mark_stores(Expr& e) {
    e.stores = true;
    for (const ExprPtr& each : e.operands)
        if (each) mark_stores(*each);
}

}  // namespace

ExprPtr clone(const Expr& e) {
    ExprPtr out = make(e.kind, e.position);
    out->is_data = e.is_data;
    out->stores = e.stores;
    out->name = e.name;
    out->attribute = e.attribute;
    out->value = e.value;
    out->ops = e.ops;
    for (const ExprPtr& each : e.operands) out->operands.push_back(each ? clone(*each) : nullptr);
    return out;
}

ExprPtr Parser::finish(ExprPtr e) {
    int height = 0;
    const auto see = [&](const ExprPtr& each) { height = std::max(height, each ? each->height : 0); };
    std::ranges::for_each(e->operands, see);
    std::ranges::for_each(e->arguments.positional, see);
    for (const auto& [name, value] : e->arguments.keyword) see(value);
    see(e->arguments.star);
    see(e->arguments.star_star);
    e->height = height + 1;
    if (e->height > kMaxHeight) fail(fmt::format("an expression of more than {} levels", kMaxHeight), e->position);
    return e;
}

void Parser::check_target(const Expr& e) {
    if (!can_assign(e)) fail(fmt::format("can't assign to '{}'", node_name(e)), e.position);
}

ExprPtr Parser::name_target() {
    const Token token = expect("name");
    ExprPtr e = make(Expr::Kind::Name, token.position);
    e->name = token.text;
    e->stores = true;
    check_target(*e);
    return e;
}

ExprPtr Parser::target(bool with_namespace, const char* end_name) {
    ExprPtr e = tuple(true, true, end_name, false, with_namespace);
    mark_stores(*e);
    check_target(*e);
    return e;
}

ExprPtr Parser::expression(bool with_condition) {
    const Deeper deeper(*this);
    return with_condition ? conditional() : disjunction();
}

ExprPtr Parser::conditional() {
    Position position = current().position;
    ExprPtr then = disjunction();
    while (skip_if_name("if")) {
        ExprPtr e = make(Expr::Kind::Cond, position);
        e->operands.push_back(disjunction());
        e->operands.push_back(std::move(then));
        const Deeper deeper(*this);
        e->operands.push_back(skip_if_name("else") ? conditional() : nullptr);
        then = finish(std::move(e));
        position = current().position;
    }
    return then;
}

ExprPtr Parser::binary(Expr::Kind kind, Position position, ExprPtr left, ExprPtr right) {
    ExprPtr e = make(kind, position);
    e->operands.push_back(std::move(left));
    e->operands.push_back(std::move(right));
    return finish(std::move(e));
}

ExprPtr Parser::disjunction() {
    const Position position = current().position;
    ExprPtr left = conjunction();
    while (skip_if_name("or")) {
        left = binary(Expr::Kind::Or, position, std::move(left), conjunction());
    }
    return left;
}

ExprPtr Parser::conjunction() {
    const Position position = current().position;
    ExprPtr left = negation();
    while (skip_if_name("and")) {
        left = binary(Expr::Kind::And, position, std::move(left), negation());
    }
    return left;
}

ExprPtr Parser::negation() {
    if (!at_name("not")) return comparison();
    const Deeper deeper(*this);
    ExprPtr e = make(Expr::Kind::Not, next().position);
    e->operands.push_back(negation());
    return finish(std::move(e));
}

ExprPtr Parser::comparison() {
    const Position position = current().position;
    ExprPtr first = sum();
    std::vector<Op> ops;
    std::vector<ExprPtr> operands;
    while (true) {
        const std::string_view type = current().type;
        if (type == "eq" || type == "ne" || type == "lt" || type == "lteq" || type == "gt" || type == "gteq") {
            ops.push_back(type == "eq"     ? Op::Eq
                          : type == "ne"   ? Op::Ne
                          : type == "lt"   ? Op::Lt
                          : type == "lteq" ? Op::Le
                          : type == "gt"   ? Op::Gt
                                           : Op::Ge);
            next();
        } else if (skip_if_name("in")) {
            ops.push_back(Op::In);
        } else if (at_name("not") && look().type == "name" && look().text == "in") {
            next();
            next();
            ops.push_back(Op::NotIn);
        } else {
            break;
        }
        operands.push_back(sum());
    }
    if (ops.empty()) return first;
    ExprPtr e = make(Expr::Kind::Compare, position);
    e->ops = std::move(ops);
    e->operands.push_back(std::move(first));
    for (ExprPtr& each : operands) e->operands.push_back(std::move(each));
    return finish(std::move(e));
}

ExprPtr Parser::sum() {
    const Position position = current().position;
    ExprPtr left = concatenation();
    while (at("add") || at("sub")) {
        const Op op = next().type == "add" ? Op::Add : Op::Sub;
        left = binary(Expr::Kind::Binary, position, std::move(left), concatenation());
        left->ops = {op};
    }
    return left;
}

ExprPtr Parser::concatenation() {
    const Position position = current().position;
    ExprPtr first = product();
    if (!at("tilde")) return first;
    ExprPtr e = make(Expr::Kind::Concat, position);
    e->operands.push_back(std::move(first));
    while (skip_if("tilde")) e->operands.push_back(product());
    return finish(std::move(e));
}

ExprPtr Parser::product() {
    const Position position = current().position;
    ExprPtr left = power();
    while (at("mul") || at("div") || at("floordiv") || at("mod")) {
        const std::string_view type = next().type;
        left = binary(Expr::Kind::Binary, position, std::move(left), power());
        left->ops = {type == "mul" ? Op::Mul : type == "div" ? Op::Div : type == "mod" ? Op::Mod : Op::FloorDiv};
    }
    return left;
}

ExprPtr Parser::power() {
    const Position position = current().position;
    ExprPtr left = unary(true);
    while (skip_if("pow")) {
        left = binary(Expr::Kind::Binary, position, std::move(left), unary(true));
        left->ops = {Op::Pow};
    }
    return left;
}

ExprPtr Parser::unary(bool with_filter) {
    const Deeper deeper(*this);
    const Position position = current().position;
    ExprPtr e;
    if (at("sub") || at("add")) {
        e = make(next().type == "sub" ? Expr::Kind::Negate : Expr::Kind::Plus, position);
        e->operands.push_back(unary(false));
        e = finish(std::move(e));
    } else {
        e = primary(false);
    }
    e = postfix(std::move(e));
    return with_filter ? filters_and_tests(std::move(e)) : std::move(e);
}

ExprPtr Parser::primary(bool with_namespace) {
    const Token token = current();
    if (token.type == "name") {
        next();
        if (token.text == "true" || token.text == "false" || token.text == "True" || token.text == "False")
            return constant(Value::boolean(token.text[0] == 't' || token.text[0] == 'T'), token.position);
        if (token.text == "none" || token.text == "None") return constant(Value::none(), token.position);
        if (with_namespace && skip_if("dot")) {
            ExprPtr e = make(Expr::Kind::NsRef, token.position);
            e->name = token.text;
            e->attribute = expect("name").text;
            return e;
        }
        ExprPtr e = make(Expr::Kind::Name, token.position);
        e->name = token.text;
        return e;
    }
    if (token.type == "string") {
        std::string text;
        while (at("string")) text += next().text;
        return constant(Value::string(std::move(text)), token.position);
    }
    if (token.type == "integer" || token.type == "float") return constant(next().value, token.position);
    if (token.type == "lparen") {
        next();
        ExprPtr e = tuple(false, true, nullptr, true, false);
        expect("rparen");
        return e;
    }
    if (token.type == "lbracket") return list();
    if (token.type == "lbrace") return dict();
    fail(fmt::format("unexpected {}", repr_text(describe(token))), token.position);
}

ExprPtr Parser::tuple(bool simplified, bool with_condition, const char* end_name, bool in_parentheses,
                      bool with_namespace) {
    const Deeper deeper(*this);
    Position position = current().position;
    std::vector<ExprPtr> items;
    bool is_tuple = false;
    while (true) {
        if (!items.empty()) expect("comma");
        if (at("variable_end") || at("block_end") || at("rparen") || (end_name && at_name(end_name))) break;
        items.push_back(simplified ? primary(with_namespace) : expression(with_condition));
        if (!at("comma")) break;
        is_tuple = true;
        position = current().position;
    }
    if (!is_tuple) {
        if (!items.empty()) return std::move(items[0]);
        if (!in_parentheses) fail(fmt::format("Expected an expression, got {}", repr_text(describe(current()))));
    }
    ExprPtr e = make(Expr::Kind::Tuple, position);
    e->operands = std::move(items);
    return finish(std::move(e));
}

ExprPtr Parser::list() {
    const Deeper deeper(*this);
    ExprPtr e = make(Expr::Kind::List, expect("lbracket").position);
    while (!at("rbracket")) {
        if (!e->operands.empty()) expect("comma");
        if (at("rbracket")) break;
        e->operands.push_back(expression());
    }
    expect("rbracket");
    return finish(std::move(e));
}

ExprPtr Parser::dict() {
    const Deeper deeper(*this);
    ExprPtr e = make(Expr::Kind::Dict, expect("lbrace").position);
    while (!at("rbrace")) {
        if (!e->operands.empty()) expect("comma");
        if (at("rbrace")) break;
        e->operands.push_back(expression());
        expect("colon");
        e->operands.push_back(expression());
    }
    expect("rbrace");
    return finish(std::move(e));
}

ExprPtr Parser::postfix(ExprPtr node) {
    while (true) {
        if (at("dot") || at("lbracket"))
            node = subscript(std::move(node));
        else if (at("lparen"))
            node = call(std::move(node));
        else
            return node;
    }
}

ExprPtr Parser::filters_and_tests(ExprPtr node) {
    while (true) {
        if (at("pipe"))
            node = filter(std::move(node), false);
        else if (at_name("is"))
            node = test(std::move(node));
        else if (at("lparen"))
            node = call(std::move(node));
        else
            return node;
    }
}

ExprPtr Parser::subscript(ExprPtr node) {
    const Token token = next();
    if (token.type == "dot") {
        const Token attribute = current();
        next();
        if (attribute.type == "name") {
            ExprPtr e = make(Expr::Kind::GetAttr, token.position);
            e->operands.push_back(std::move(node));
            e->name = attribute.text;
            return finish(std::move(e));
        }
        if (attribute.type != "integer") fail("expected name or number", attribute.position);
        return binary(Expr::Kind::GetItem, token.position, std::move(node),
                      constant(attribute.value, attribute.position));
    }
    std::vector<ExprPtr> indices;
    bool first = true;
    while (!at("rbracket")) {
        if (!first) expect("comma");
        first = false;
        indices.push_back(subscript_index());
    }
    expect("rbracket");
    ExprPtr index;
    if (indices.size() == 1) {
        index = std::move(indices[0]);
    } else {
        index = make(Expr::Kind::Tuple, token.position);
        index->operands = std::move(indices);
        index = finish(std::move(index));
    }
    return binary(Expr::Kind::GetItem, token.position, std::move(node), std::move(index));
}

ExprPtr Parser::subscript_index() {
    const Position position = current().position;
    ExprPtr start;
    if (!at("colon")) {
        start = expression();
        if (!at("colon")) return start;
    }
    next();
    ExprPtr e = make(Expr::Kind::Slice, position);
    e->operands.push_back(std::move(start));
    const auto at_end = [&] { return at("rbracket") || at("comma"); };
    e->operands.push_back(at("colon") || at_end() ? nullptr : expression());
    e->operands.push_back(skip_if("colon") && !at_end() ? expression() : nullptr);
    return finish(std::move(e));
}

CallArguments Parser::call_arguments() {
    const Token token = expect("lparen");
    CallArguments out;
    bool first = true;
    const auto ensure = [&](bool ok) {
        if (!ok) fail("invalid syntax for function call expression", token.position);
    };
    while (!at("rparen")) {
        if (!first) {
            expect("comma");
            if (at("rparen")) break;
        }
        first = false;
        if (at("mul")) {
            ensure(!out.star && !out.star_star);
            next();
            out.star = expression();
        } else if (at("pow")) {
            ensure(!out.star_star);
            next();
            out.star_star = expression();
        } else if (at("name") && look().type == "assign") {
            ensure(!out.star_star);
            const std::string key = next().text;
            next();
            out.keyword.emplace_back(key, expression());
        } else {
            ensure(!out.star && !out.star_star && out.keyword.empty());
            out.positional.push_back(expression());
        }
    }
    expect("rparen");
    return out;
}

ExprPtr Parser::call(ExprPtr node) {
    ExprPtr e = make(Expr::Kind::Call, current().position);
    e->arguments = call_arguments();
    e->operands.push_back(std::move(node));
    return finish(std::move(e));
}

ExprPtr Parser::filter(ExprPtr node, bool start_inline) {
    while (at("pipe") || start_inline) {
        if (!start_inline) next();
        start_inline = false;
        const Token token = expect("name");
        ExprPtr e = make(Expr::Kind::Filter, token.position);
        e->name = token.text;
        while (skip_if("dot")) e->name.append(1, '.').append(expect("name").text);
        if (at("lparen")) e->arguments = call_arguments();
        e->operands.push_back(std::move(node));
        node = finish(std::move(e));
    }
    return node;
}

ExprPtr Parser::test(ExprPtr node) {
    const Position position = next().position;
    const bool negated = skip_if_name("not");
    ExprPtr e = make(Expr::Kind::Test, position);
    e->name = expect("name").text;
    while (skip_if("dot")) e->name.append(1, '.').append(expect("name").text);
    if (at("lparen")) {
        e->arguments = call_arguments();
    } else if ((at("name") || at("string") || at("integer") || at("float") || at("lbracket") || at("lbrace")) &&
               !at_name("else") && !at_name("or") && !at_name("and")) {
        if (at_name("is")) fail("You cannot chain multiple tests with is");
        e->arguments.positional.push_back(postfix(primary(false)));
    }
    e->operands.push_back(std::move(node));
    e = finish(std::move(e));
    if (!negated) return e;
    ExprPtr inverse = make(Expr::Kind::Not, position);
    inverse->operands.push_back(std::move(e));
    return finish(std::move(inverse));
}

}  // namespace minfer::chat::jinja
