// Runs a resolved template once, within its limits.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/jinja/ast.h"
#include "chat/jinja/loop.h"
#include "chat/jinja/template.h"
#include "chat/jinja/value.h"

namespace minfer::chat::jinja {

// The variables of a function that runs, kept for as long as a macro that was made in it.
struct Activation {
    Activation(const FunctionPlan& plan, std::shared_ptr<Activation> p);
    std::shared_ptr<Activation> parent;
    std::vector<Value> slots;  // missing() where nothing is assigned
};

Value missing();  // in a slot: not assigned
bool is_missing(const Value& value);

struct MacroObject : Callable {
    MacroObject(const MacroPlan& p, Function f) : Callable(Kind::Macro, p.name, std::move(f)), plan(&p) {}
    const MacroPlan* plan;
};

// What a template, a macro or a block writes to.
struct Buffer {
    std::string text;
    // The type of the first thing written that is no str. Python finds it when it joins the parts, at the very end.
    std::string wrong_type;
    std::string take();  // TypeError
};

class Interpreter {
  public:
    Interpreter(const Program& program, Dict context, const RenderOptions& options);
    ~Interpreter();
    Interpreter(const Interpreter&) = delete;
    Interpreter& operator=(const Interpreter&) = delete;

    std::string run();

    // For filters, tests, functions and methods.
    Value call(const Value& callee, const Arguments& arguments);
    Value call_filter(const Value& name, const Value& input, const Arguments& arguments);
    bool call_test(const Value& name, const Value& input, const Arguments& arguments);
    Value get_attribute(const Value& object, const std::string& name);  // object.name
    Value get_item(const Value& object, const Value& key);              // object[key]
    void spend(uint64_t steps);
    void spend_on(const Value& value);  // as much as walking over it takes
    void spend_on(const Arguments& arguments);
    const Clock& now() const { return options_.now; }
    bool autoescape() const { return autoescape_; }
    void keep(std::shared_ptr<Namespace> made);  // to the end of the run

  private:
    friend struct TestedIterator;
    enum class Flow { Normal, Break, Continue };

    // Statements: statements.cpp.
    Flow execute(const Body& body);
    Flow execute(const Stmt& statement);
    void output(const Stmt& statement);
    Flow for_loop(const Stmt& statement);
    Flow loop_over(const Stmt& statement, const Value& items, Loop::Recurse recurse, int64_t depth);
    Value recursive_loop(const Stmt& statement, std::shared_ptr<Activation> parent, const Value& items, int64_t depth);
    Flow if_else(const Stmt& statement);
    Flow filter_block(const Stmt& statement);
    Flow with(const Stmt& statement);
    void set(const Stmt& statement);
    Flow set_block(const Stmt& statement);
    Flow autoescape_block(const Stmt& statement);
    void call_block(const Stmt& statement);
    [[noreturn]] void load_template(const Stmt& statement);
    void assign(const Expr& target, const Value& value, bool exports);
    void check_namespaces(const Expr& target);
    void write(const Value& value);
    void write_result(const Value& value);  // of a filter or call block, which Jinja2 does not turn into a str
    void write_text(std::string_view text);
    std::string captured(const Body& body, Flow& flow);
    void run_block(const Stmt& statement);
    void enter(const ScopePlan& scope);
    void leave(const ScopePlan& scope);

    // Macros and blocks: calls.cpp.
    Value make_macro(const MacroPlan& plan);
    Value call_macro(const MacroPlan& plan, const std::shared_ptr<Activation>& parent, const Arguments& arguments);
    Value block_reference(std::string_view name);
    void render_block(const BlockPlan& block, Buffer& to);
    std::optional<Value> block_or_nothing(const Value& name);
    std::optional<Value> attribute(const Value& object, const std::string& name);
    // `caller`, where there is one, comes as Jinja2 passes it: behind the keywords, before **kwargs.
    Arguments evaluate(const CallArguments& arguments, const Value* caller = nullptr);

    // Expressions: expressions.cpp.
    Value eval(const Expr& e);
    Value eval_or_none(const ExprPtr& e) { return e ? eval(*e) : Value::none(); }
    Value compare_chain(const Expr& e);
    Value item_of(const Expr& e);
    Value filtered(const Expr& e, const Value* block_text);
    Value concatenated(const Expr& e);
    void step(const Position& position);
    Value& slot(const SlotRef& ref);
    Value lookup(const std::string& name) const;  // in the context, or missing()

    // Counts one up for as long as it lives; RecursionError past the limit.
    class Deeper {
      public:
        Deeper(int& depth, int limit);
        ~Deeper() { --depth_; }
        Deeper(const Deeper&) = delete;
        Deeper& operator=(const Deeper&) = delete;

      private:
        int& depth_;
    };
    // Runs in another function's activation, writing to another text, until the end of the C++ scope.
    class Inside {
      public:
        Inside(Interpreter& interpreter, std::shared_ptr<Activation> frame, Buffer* out);
        ~Inside();
        Inside(const Inside&) = delete;
        Inside& operator=(const Inside&) = delete;

      private:
        Interpreter& interpreter_;
        std::shared_ptr<Activation> frame_;
        Buffer* out_;
    };

    const Program& program_;
    const RenderOptions& options_;
    Dict context_;   // what the caller gives, over the global functions
    Dict exported_;  // what the template assigns at its top
    std::shared_ptr<Activation> frame_;
    Buffer* out_ = nullptr;
    const Position* at_ = nullptr;  // where it is, for an error
    uint64_t steps_ = 0;
    uint64_t written_ = 0;
    int depth_ = 0;  // of this interpreter's own recursion
    int calls_ = 0;  // of macros, blocks and recursive loops within each other
    bool autoescape_ = false;
    // Macros and namespaces can hold each other in cycles, which are cut when the run ends.
    std::vector<std::shared_ptr<Activation>> captured_;
    std::vector<std::shared_ptr<Namespace>> namespaces_;
};

// The global functions: range, dict, namespace, cycler, joiner, raise_exception, strftime_now.
Dict make_globals();

// The attribute that Python's type has of that name, underscores included, or nothing.
std::optional<Value> find_attribute(const Value& object, const std::string& name);
bool is_safe_attribute(const Value& object, std::string_view name);

}  // namespace minfer::chat::jinja
