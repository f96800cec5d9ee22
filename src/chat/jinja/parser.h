// Tokens to the tree of ast.h. The grammar is Jinja2 3.1's with the loopcontrols extension and HuggingFace's generation
// block. Throws TemplateFailure, of type TemplateSyntaxError, with Jinja2's message and the place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/jinja/ast.h"
#include "chat/jinja/lexer.h"

namespace minfer::chat::jinja {

class Parser {
  public:
    explicit Parser(std::string_view source);
    Body parse();

  private:
    using Names = std::vector<std::string_view>;

    // The stream of tokens.
    const Token& current();
    const Token& look();  // one after the current
    bool at(std::string_view type) { return current().type == type; }
    bool at_name(std::string_view name) { return at("name") && current().text == name; }
    bool at_any(const Names& names);
    Token next();
    bool skip_if(std::string_view type);
    bool skip_if_name(std::string_view name);
    Token expect(std::string_view type);
    Token expect_name(std::string_view name);
    [[noreturn]] void fail(const std::string& message, Position position);
    [[noreturn]] void fail(const std::string& message) { fail(message, current().position); }
    [[noreturn]] void fail_unclosed(const std::string* tag, const std::vector<Names>& stack, Position position);

    // Statements: parser.cpp.
    Body body(const Names* end);
    Body statements(const Names& end, bool drop_needle);
    StmtPtr statement();
    StmtPtr for_statement();
    StmtPtr if_statement();
    StmtPtr set_statement();
    StmtPtr with_statement();
    StmtPtr macro_statement();
    StmtPtr call_block();
    StmtPtr filter_block();
    StmtPtr generation_block();
    StmtPtr block_statement();
    StmtPtr print_statement();
    StmtPtr autoescape_statement();
    StmtPtr load_statement();
    void import_names(Stmt& statement);
    bool context_modifier();
    void signature(MacroPlan& macro);

    // Expressions: parser_expressions.cpp.
    ExprPtr target(bool with_namespace, const char* end_name);
    ExprPtr name_target();
    void check_target(const Expr& target);
    ExprPtr expression(bool with_condition = true);
    ExprPtr conditional();
    ExprPtr disjunction();
    ExprPtr conjunction();
    ExprPtr negation();
    ExprPtr comparison();
    ExprPtr sum();
    ExprPtr concatenation();
    ExprPtr product();
    ExprPtr power();
    ExprPtr unary(bool with_filter);
    ExprPtr primary(bool with_namespace);
    ExprPtr tuple(bool simplified, bool with_condition, const char* end_name, bool in_parentheses, bool with_namespace);
    ExprPtr list();
    ExprPtr dict();
    ExprPtr postfix(ExprPtr node);
    ExprPtr filters_and_tests(ExprPtr node);
    ExprPtr subscript(ExprPtr node);
    ExprPtr subscript_index();
    ExprPtr call(ExprPtr node);
    CallArguments call_arguments();
    ExprPtr filter(ExprPtr node, bool start_inline);
    ExprPtr test(ExprPtr node);
    ExprPtr finish(ExprPtr e);  // measures a node that has its operands; fails where the tree is too high
    ExprPtr binary(Expr::Kind kind, Position position, ExprPtr left, ExprPtr right);

    // Counts nesting for as long as it lives: the parser recurses, and a hostile template must not overflow the stack.
    class Deeper {
      public:
        explicit Deeper(Parser& parser);
        ~Deeper() { --parser_.depth_; }
        Deeper(const Deeper&) = delete;
        Deeper& operator=(const Deeper&) = delete;

      private:
        Parser& parser_;
    };

    std::vector<Token> tokens_;
    size_t at_ = 0;
    int depth_ = 0;
    std::vector<std::string> tags_;  // open, outermost first
    std::vector<Names> ends_;        // what each open body waits for
};

std::string describe(const Token& token);
std::string describe_type(std::string_view type);

}  // namespace minfer::chat::jinja
