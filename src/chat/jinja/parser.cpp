// Statements.
#include "chat/jinja/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "chat/jinja/error.h"
#include "chat/jinja/unicode.h"

namespace minfer::chat::jinja {
namespace {

constexpr int kMaxNesting = 200;  // CPython's own limit on nested brackets

bool is_blank_data(const Stmt& statement) {
    if (statement.kind != Stmt::Kind::Output) return false;
    return std::ranges::all_of(statement.values, [](const ExprPtr& e) {
        const std::vector<char32_t> codes = e->is_data ? unicode::decode_all(e->value.text()) : std::vector<char32_t>{};
        return !codes.empty() && std::ranges::all_of(codes, unicode::is_space);
    });
}

StmtPtr make(Stmt::Kind kind, Position position) { return std::make_unique<Stmt>(kind, position); }

}  // namespace

std::string describe_type(std::string_view type) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 32> kNames = {{
        {"add", "+"},
        {"sub", "-"},
        {"div", "/"},
        {"floordiv", "//"},
        {"mul", "*"},
        {"mod", "%"},
        {"pow", "**"},
        {"tilde", "~"},
        {"lbracket", "["},
        {"rbracket", "]"},
        {"lparen", "("},
        {"rparen", ")"},
        {"lbrace", "{"},
        {"rbrace", "}"},
        {"eq", "=="},
        {"ne", "!="},
        {"gt", ">"},
        {"gteq", ">="},
        {"lt", "<"},
        {"lteq", "<="},
        {"assign", "="},
        {"dot", "."},
        {"colon", ":"},
        {"pipe", "|"},
        {"comma", ","},
        {"semicolon", ";"},
        {"block_begin", "begin of statement block"},
        {"block_end", "end of statement block"},
        {"variable_begin", "begin of print statement"},
        {"variable_end", "end of print statement"},
        {"data", "template data / text"},
        {"eof", "end of template"},
    }};
    const auto found = std::ranges::find(kNames, type, [](const auto& n) { return n.first; });
    return std::string(found == kNames.end() ? type : found->second);
}

std::string describe(const Token& token) { return token.type == "name" ? token.text : describe_type(token.type); }

Parser::Deeper::Deeper(Parser& parser) : parser_(parser) {
    if (++parser_.depth_ > kMaxNesting) {
        --parser_.depth_;
        parser_.fail(fmt::format("nested more than {} deep", kMaxNesting));
    }
}

Parser::Parser(std::string_view source) : tokens_(tokenize(source)) {}

const Token& Parser::current() {
    const Token& token = tokens_[at_];
    if (token.type == "failure")
        throw TemplateFailure(std::string(token.failure_type), token.text, token.position.line, token.position.column);
    return token;
}

const Token& Parser::look() {
    if (tokens_[at_].type == "eof") return tokens_[at_];
    const Token& token = tokens_[at_ + 1];
    if (token.type == "failure")
        throw TemplateFailure(std::string(token.failure_type), token.text, token.position.line, token.position.column);
    return token;
}

bool Parser::at_any(const Names& names) { return at("name") && std::ranges::count(names, current().text) > 0; }

Token Parser::next() {
    Token token = current();
    if (token.type != "eof") ++at_;
    current();  // Jinja2's stream has lexed the token that follows, and has met its mistakes
    return token;
}

bool Parser::skip_if(std::string_view type) {
    if (!at(type)) return false;
    next();
    return true;
}

bool Parser::skip_if_name(std::string_view name) {
    if (!at_name(name)) return false;
    next();
    return true;
}

Token Parser::expect(std::string_view type) {
    if (at(type)) return next();
    const std::string wanted = repr_text(describe_type(type));
    if (at("eof")) fail(fmt::format("unexpected end of template, expected {}.", wanted));
    fail(fmt::format("expected token {}, got {}", wanted, repr_text(describe(current()))));
}

Token Parser::expect_name(std::string_view name) {
    if (at_name(name)) return next();
    if (at("eof")) fail(fmt::format("unexpected end of template, expected {}.", repr_text(name)));
    fail(fmt::format("expected token {}, got {}", repr_text(name), repr_text(describe(current()))));
}

void Parser::fail(const std::string& message, Position position) {
    throw TemplateFailure("TemplateSyntaxError", message, position.line, position.column);
}

void Parser::fail_unclosed(const std::string* tag, const std::vector<Names>& stack, Position position) {
    std::string looking;
    bool is_expected = false;
    if (!stack.empty()) {
        for (const std::string_view name : stack.back()) {
            if (!looking.empty()) looking += " or ";
            looking += repr_text(name);
        }
        for (const Names& names : stack) is_expected |= tag && std::ranges::count(names, *tag) > 0;
    }
    std::string message =
        tag ? fmt::format("Encountered unknown tag {}.", repr_text(*tag)) : "Unexpected end of template.";
    if (!looking.empty()) {
        message += is_expected ? fmt::format(
                                     " You probably made a nesting mistake. Jinja is expecting this tag, but "
                                     "currently looking for {}.",
                                     looking)
                               : fmt::format(" Jinja was looking for the following tags: {}.", looking);
    }
    if (!tags_.empty())
        message += fmt::format(" The innermost block that needs to be closed is {}.", repr_text(tags_.back()));
    fail(message, position);
}

Body Parser::parse() { return body(nullptr); }

Body Parser::body(const Names* end) {
    const Deeper deeper(*this);
    Body out;
    StmtPtr output;
    const auto flush = [&] {
        if (output) out.push_back(std::move(output));
        output = nullptr;
    };
    const auto add = [&](ExprPtr e) {
        if (!output) output = make(Stmt::Kind::Output, e->position);
        output->values.push_back(std::move(e));
    };
    if (end) ends_.push_back(*end);
    while (!at("eof")) {
        if (at("data")) {
            auto data = std::make_unique<Expr>(Expr::Kind::Const, current().position);
            data->is_data = true;
            data->value = Value::string(current().text);
            add(std::move(data));
            next();
        } else if (at("variable_begin")) {
            next();
            add(tuple(false, true, nullptr, false, false));
            expect("variable_end");
        } else {
            flush();
            expect("block_begin");
            if (end && at_any(*end)) {
                ends_.pop_back();
                return out;
            }
            out.push_back(statement());
            expect("block_end");
        }
    }
    flush();
    if (end) ends_.pop_back();
    return out;
}

Body Parser::statements(const Names& end, bool drop_needle) {
    skip_if("colon");
    expect("block_end");
    Body out = body(&end);
    if (at("eof")) {
        std::vector<Names> stack = ends_;
        stack.push_back(end);
        fail_unclosed(nullptr, stack, current().position);
    }
    if (drop_needle) next();
    return out;
}

StmtPtr Parser::statement() {
    if (!at("name")) fail("tag name expected");
    const Token tag = current();
    constexpr std::array<std::pair<std::string_view, StmtPtr (Parser::*)()>, 17> kTags = {{
        {"for", &Parser::for_statement},
        {"if", &Parser::if_statement},
        {"block", &Parser::block_statement},
        {"extends", &Parser::load_statement},
        {"print", &Parser::print_statement},
        {"macro", &Parser::macro_statement},
        {"include", &Parser::load_statement},
        {"from", &Parser::load_statement},
        {"import", &Parser::load_statement},
        {"set", &Parser::set_statement},
        {"with", &Parser::with_statement},
        {"autoescape", &Parser::autoescape_statement},
        {"call", &Parser::call_block},
        {"filter", &Parser::filter_block},
        {"generation", &Parser::generation_block},
        {"break", nullptr},
        {"continue", nullptr},
    }};
    const auto found = std::ranges::find(kTags, tag.text, [](const auto& t) { return t.first; });
    if (found == kTags.end()) fail_unclosed(&tag.text, ends_, tag.position);
    if (!found->second) return make(next().text == "break" ? Stmt::Kind::Break : Stmt::Kind::Continue, tag.position);
    tags_.push_back(tag.text);
    StmtPtr out = (this->*found->second)();
    tags_.pop_back();
    return out;
}

StmtPtr Parser::for_statement() {
    StmtPtr s = make(Stmt::Kind::For, next().position);
    s->target = target(false, "in");
    expect_name("in");
    s->value = tuple(false, false, "recursive", false, false);
    if (skip_if_name("if")) s->test = expression();
    s->recursive = skip_if_name("recursive");
    s->body = statements({"endfor", "else"}, false);
    if (next().text == "else") s->otherwise = statements({"endfor"}, true);
    return s;
}

StmtPtr Parser::if_statement() {
    StmtPtr first = make(Stmt::Kind::If, next().position);
    Stmt* s = first.get();
    while (true) {
        s->value = tuple(false, false, nullptr, false, false);
        s->body = statements({"elif", "else", "endif"}, false);
        const Token token = next();
        if (token.text == "elif") {
            first->branches.push_back(make(Stmt::Kind::If, current().position));
            s = first->branches.back().get();
            continue;
        }
        if (token.text == "else") first->otherwise = statements({"endif"}, true);
        return first;
    }
}

StmtPtr Parser::set_statement() {
    const Position position = next().position;
    ExprPtr to = target(true, nullptr);
    StmtPtr s;
    if (skip_if("assign")) {
        s = make(Stmt::Kind::Set, position);
        s->value = tuple(false, true, nullptr, false, false);
    } else {
        s = make(Stmt::Kind::SetBlock, position);
        s->value = filter(nullptr, false);
        s->body = statements({"endset"}, true);
    }
    s->target = std::move(to);
    return s;
}

StmtPtr Parser::with_statement() {
    StmtPtr s = make(Stmt::Kind::With, next().position);
    while (!at("block_end")) {
        if (!s->targets.empty()) expect("comma");
        s->targets.push_back(target(false, nullptr));
        expect("assign");
        s->values.push_back(expression());
    }
    s->body = statements({"endwith"}, true);
    return s;
}

void Parser::signature(MacroPlan& macro) {
    expect("lparen");
    bool has_default = false;
    while (!at("rparen")) {
        if (!macro.parameters.empty()) expect("comma");
        Parameter parameter;
        parameter.name = name_target()->name;
        if (skip_if("assign")) {
            parameter.default_value = expression();
            has_default = true;
        } else if (has_default) {
            fail("non-default argument follows default argument");
        }
        macro.parameters.push_back(std::move(parameter));
    }
    expect("rparen");
}

StmtPtr Parser::macro_statement() {
    StmtPtr s = make(Stmt::Kind::Macro, next().position);
    s->macro = std::make_unique<MacroPlan>();
    s->macro->name = s->name = name_target()->name;
    signature(*s->macro);
    s->macro->body = statements({"endmacro"}, true);
    return s;
}

StmtPtr Parser::call_block() {
    StmtPtr s = make(Stmt::Kind::CallBlock, next().position);
    s->macro = std::make_unique<MacroPlan>();
    if (at("lparen")) signature(*s->macro);
    s->value = expression();
    if (s->value->kind != Expr::Kind::Call) fail("expected call", s->position);
    s->macro->body = statements({"endcall"}, true);
    return s;
}

StmtPtr Parser::generation_block() {
    StmtPtr s = make(Stmt::Kind::CallBlock, next().position);
    s->macro = std::make_unique<MacroPlan>();
    s->macro->body = statements({"endgeneration"}, true);
    return s;
}

StmtPtr Parser::filter_block() {
    StmtPtr s = make(Stmt::Kind::FilterBlock, next().position);
    s->value = filter(nullptr, true);
    s->body = statements({"endfilter"}, true);
    return s;
}

StmtPtr Parser::block_statement() {
    StmtPtr s = make(Stmt::Kind::Block, next().position);
    s->name = expect("name").text;
    s->scoped = skip_if_name("scoped");
    s->required = skip_if_name("required");
    if (at("sub")) {
        fail(
            "Block names in Jinja have to be valid Python identifiers and may not contain hyphens, use an underscore "
            "instead.");
    }
    s->body = statements({"endblock"}, true);
    if (s->required && !std::ranges::all_of(s->body, [](const StmtPtr& each) { return is_blank_data(*each); }))
        fail("Required blocks can only contain comments or whitespace");
    skip_if_name(s->name);
    return s;
}

StmtPtr Parser::print_statement() {
    StmtPtr s = make(Stmt::Kind::Output, next().position);
    while (!at("block_end")) {
        if (!s->values.empty()) expect("comma");
        s->values.push_back(expression());
    }
    return s;
}

StmtPtr Parser::autoescape_statement() {
    StmtPtr s = make(Stmt::Kind::Autoescape, next().position);
    s->value = expression();
    s->body = statements({"endautoescape"}, true);
    return s;
}

bool Parser::context_modifier() {
    if (!(at_name("with") || at_name("without")) || look().type != "name" || look().text != "context") return false;
    next();
    next();
    return true;
}

void Parser::import_names(Stmt& s) {
    bool first = true;
    while (true) {
        if (!first) expect("comma");
        if (!at("name")) expect("name");
        if (context_modifier()) return;
        const ExprPtr from = name_target();
        if (from->name.starts_with("_"))
            throw TemplateFailure("TemplateAssertionError", "names starting with an underline can not be imported",
                                  from->position.line, from->position.column);
        s.imported.push_back(skip_if_name("as") ? name_target()->name : from->name);
        first = false;
        if (context_modifier() || !at("comma")) return;
    }
}

StmtPtr Parser::load_statement() {
    const Token tag = next();
    StmtPtr s = make(Stmt::Kind::LoadTemplate, tag.position);
    s->keyword = tag.text;
    s->value = expression();
    if (tag.text == "include") {
        if (at_name("ignore") && look().type == "name" && look().text == "missing") {
            next();
            next();
        }
        context_modifier();
    } else if (tag.text == "import") {
        expect_name("as");
        s->imported.push_back(name_target()->name);
        context_modifier();
    } else if (tag.text == "from") {
        expect_name("import");
        import_names(*s);
    }
    return s;
}

}  // namespace minfer::chat::jinja
