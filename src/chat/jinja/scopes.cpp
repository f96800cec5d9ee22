#include "chat/jinja/scopes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "chat/jinja/error.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/symbols.h"
#include "chat/jinja/tests.h"
#include "chat/jinja/visit.h"

namespace minfer::chat::jinja {
namespace {

[[noreturn]] void fail_at(const char* type, const std::string& message, Position position) {
    throw TemplateFailure(type, message, position.line, position.column);
}

// A tuple of indices with a slice among them, which Jinja2 cannot write.
bool holds_slice(const Expr& e) {
    return e.kind == Expr::Kind::Tuple &&
           std::ranges::any_of(e.operands, [](const ExprPtr& each) { return each->kind == Expr::Kind::Slice; });
}

bool is_negative_number(const Expr& e) {
    if (e.kind != Expr::Kind::Negate) return false;
    const Expr& of = *e.operands[0];
    return of.kind == Expr::Kind::Const && of.value.is_number() && compare(Op::Gt, of.value, Value::integer(0));
}

bool is_constant(const Expr& e) {
    if (e.kind == Expr::Kind::Name || e.kind == Expr::Kind::Call) return false;
    bool constant = true;
    for_each_part(e, [&](const Expr& each) { constant &= is_constant(each); });
    return constant;
}

class Resolver {
  public:
    explicit Resolver(Program& program) : program_(program) {}

    void run() {
        collect_blocks(program_.body);
        Function function{.parent = nullptr, .plan = &program_.function, .slots = {}};
        Symbols symbols(nullptr, &function);
        if (undeclared({"self"}, program_.body).contains("self")) {
            symbols.declare_parameter("self");
            program_.self_slot = function.slot(0, "self");
        }
        Analyzer(symbols).see(program_.body);
        program_.scope = plan(symbols);
        Frame frame{.symbols = &symbols, .function = &function, .toplevel = true};
        body(program_.body, frame);
        for (BlockPlan& block : program_.blocks) resolve_block(block);
        if (!python_error_.empty()) fail_at("SyntaxError", python_error_, python_error_at_);
    }

  private:
    struct Frame {
        Symbols* symbols;
        Function* function;
        bool toplevel = false;  // assignments go into the context too
        bool soft = false;      // in an `if`: unknown filters fail when they are used
        bool in_loop = false;   // break and continue have a loop to act on
    };

    // What Python would say of the code that Jinja2 writes: after all that Jinja2 itself has to say.
    void fail_in_python(const std::string& message, Position position) {
        if (!python_error_.empty()) return;
        python_error_ = message;
        python_error_at_ = position;
    }

    Frame inner(const Frame& frame, Symbols& symbols) const {
        return {.symbols = &symbols,
                .function = symbols.function,
                .toplevel = false,
                .soft = false,
                .in_loop = frame.in_loop};
    }

    void collect_blocks(const Body& statements) {
        for (const StmtPtr& each : statements) {
            if (each->kind == Stmt::Kind::Block) {
                for (const BlockPlan& block : program_.blocks)
                    if (block.name == each->name)
                        fail_at("TemplateAssertionError", fmt::format("block {} defined twice", repr_text(each->name)),
                                each->position);
                BlockPlan block;
                block.name = each->name;
                block.statement = each.get();
                program_.blocks.push_back(std::move(block));
            }
            for (const Body* part : {&each->body, &each->branches, &each->otherwise}) collect_blocks(*part);
            if (each->macro) collect_blocks(each->macro->body);
        }
    }

    void resolve_block(BlockPlan& block) {
        Function function{.parent = nullptr, .plan = &block.function, .slots = {}};
        Symbols symbols(nullptr, &function);
        const std::set<std::string> special = undeclared({"self", "super"}, block.statement->body);
        for (const std::string& name : special) {
            symbols.declare_parameter(name);
            (name == "self" ? block.self_slot : block.super_slot) = function.slot(0, name);
        }
        Analyzer(symbols).see(block.statement->body);
        block.scope = plan(symbols);
        Frame frame{.symbols = &symbols, .function = &function};
        body(block.statement->body, frame);
    }

    SlotRef locate(const Symbols::Ref& ref, const Function* from) const {
        int hops = 0;
        for (const Function* f = from; f != ref.function; f = f->parent) ++hops;
        return {hops, ref.function->slot(ref.level, ref.name)};
    }

    SlotRef ref(const std::string& name, const Frame& frame, Position position) const {
        const auto found = frame.symbols->find(name);
        if (!found) {
            // A gap of Jinja2's own analysis: the arguments of a set block's filter.
            fail_at("AssertionError",
                    fmt::format("Tried to resolve a name to a reference that was unknown to the frame ({})",
                                repr_text(name)),
                    position);
        }
        return locate(*found, frame.function);
    }

    ScopePlan plan(const Symbols& symbols) const {
        ScopePlan out;
        for (const auto& [name, load] : symbols.loads) {
            const int slot = symbols.function->slot(symbols.level, name);
            out.leave.push_back(slot);
            if (load.is_parameter) continue;
            ScopePlan::Load each{slot, load.action, name, {}};
            if (load.action == ScopePlan::Action::Alias) each.from = locate(load.from, symbols.function);
            out.enter.push_back(std::move(each));
        }
        return out;
    }

    void expr(Expr& e, const Frame& frame) {
        if (e.kind == Expr::Kind::Name || e.kind == Expr::Kind::NsRef) e.ref = ref(e.name, frame, e.position);
        Frame inside = frame;
        if (e.kind == Expr::Kind::Cond) inside.soft = true;
        if ((e.kind == Expr::Kind::Filter && !find_filter(e.name)) ||
            (e.kind == Expr::Kind::Test && !find_test(e.name))) {
            if (!frame.soft) {
                fail_at(
                    "TemplateAssertionError",
                    fmt::format("No {} named {}.", e.kind == Expr::Kind::Filter ? "filter" : "test", repr_text(e.name)),
                    e.position);
            }
        }
        if (e.kind == Expr::Kind::GetItem && holds_slice(*e.operands[1])) fail_in_python("invalid syntax", e.position);
        // Jinja2 writes a negative constant without brackets: -2 ** n is -(2 ** n), unless all of it is constant.
        if (e.kind == Expr::Kind::Binary && e.ops[0] == Op::Pow && is_negative_number(*e.operands[0]))
            e.negates_power = !is_constant(*e.operands[1]);
        std::set<std::string> keywords;
        for (const auto& [name, value] : e.arguments.keyword)
            if (!keywords.insert(name).second)
                fail_in_python(fmt::format("keyword argument repeated: {}", name), e.position);
        for_each_part(e, [&](Expr& each) { expr(each, inside); });
    }

    void body(Body& statements, const Frame& frame) {
        for (StmtPtr& each : statements) stmt(*each, frame);
    }

    void stmt(Stmt& s, const Frame& frame) {
        switch (s.kind) {
            case Stmt::Kind::Output:
                for (ExprPtr& each : s.values) expr(*each, frame);
                break;
            case Stmt::Kind::For:
                for_loop(s, frame);
                break;
            case Stmt::Kind::If: {
                Frame soft = frame;
                soft.soft = true;
                expr(*s.value, soft);
                body(s.body, soft);
                body(s.branches, soft);
                body(s.otherwise, soft);
                break;
            }
            case Stmt::Kind::Macro:
                macro(*s.macro, frame, s.position);
                s.ref = ref(s.name, frame, s.position);
                s.exports = frame.toplevel;
                break;
            case Stmt::Kind::CallBlock:
                macro(*s.macro, frame, s.position);
                if (s.value) {
                    expr(*s.value, frame);
                    for (const auto& each : s.value->arguments.keyword)
                        if (each.first == "caller") fail_in_python("keyword argument repeated: caller", s.position);
                }
                break;
            case Stmt::Kind::FilterBlock: {
                Symbols symbols(frame.symbols, frame.function);
                Analyzer analyzer(symbols);
                analyzer.see(s.body);
                analyzer.see(*s.value);
                s.scope = plan(symbols);
                const Frame in = inner(frame, symbols);
                body(s.body, in);
                expr(*s.value, in);
                break;
            }
            case Stmt::Kind::With: {
                Symbols symbols(frame.symbols, frame.function);
                Analyzer analyzer(symbols);
                for (ExprPtr& each : s.targets) analyzer.see(*each, true);
                analyzer.see(s.body);
                s.scope = plan(symbols);
                const Frame in = inner(frame, symbols);
                for (ExprPtr& each : s.targets) expr(*each, in);
                for (ExprPtr& each : s.values) expr(*each, frame);
                body(s.body, in);
                break;
            }
            case Stmt::Kind::Set:
                expr(*s.target, frame);
                expr(*s.value, frame);
                s.exports = frame.toplevel;
                break;
            case Stmt::Kind::SetBlock: {
                Symbols symbols(frame.symbols, frame.function);
                Analyzer(symbols).see(s.body);
                s.scope = plan(symbols);
                const Frame in = inner(frame, symbols);
                body(s.body, in);
                expr(*s.target, frame);
                if (s.value) expr(*s.value, in);
                s.exports = frame.toplevel;
                break;
            }
            case Stmt::Kind::Block:
                if (s.scoped) visible_names(s, frame);
                break;
            case Stmt::Kind::Autoescape: {
                Symbols symbols(frame.symbols, frame.function);
                Analyzer analyzer(symbols);
                analyzer.see(*s.value);
                analyzer.see(s.body);
                s.scope = plan(symbols);
                const Frame in = inner(frame, symbols);
                expr(*s.value, in);
                body(s.body, in);
                break;
            }
            case Stmt::Kind::Break:
            case Stmt::Kind::Continue:
                if (!frame.in_loop) {
                    fail_in_python(
                        s.kind == Stmt::Kind::Break ? "'break' outside loop" : "'continue' not properly in loop",
                        s.position);
                }
                break;
            case Stmt::Kind::LoadTemplate:
                if (s.keyword == "extends" && !frame.toplevel)
                    fail_at("TemplateAssertionError", "cannot use extend from a non top-level scope", s.position);
                expr(*s.value, frame);
                break;
        }
    }

    // A scoped block sees what the scopes around it have assigned.
    void visible_names(Stmt& s, const Frame& frame) {
        std::set<std::string> seen;
        for (const Symbols* each = frame.symbols; each; each = each->parent)
            for (const std::string& name : each->stores)
                if (seen.insert(name).second) {
                    s.visible.push_back(name);
                    s.visible_refs.push_back(ref(name, frame, s.position));
                }
    }

    static bool has_scoped_block(const Body& statements) {
        return std::ranges::any_of(statements, [](const StmtPtr& s) {
            return (s->kind == Stmt::Kind::Block && s->scoped) || has_scoped_block(s->body) ||
                   has_scoped_block(s->branches) || has_scoped_block(s->otherwise) ||
                   (s->macro && has_scoped_block(s->macro->body));
        });
    }

    // Jinja2 forbids a loop to assign `loop` anywhere within.
    static void forbid_loop_target(const Stmt& s) {
        const auto see = [](const Expr& e, const auto& self) -> void {
            if (e.kind == Expr::Kind::Name && e.stores && e.name == "loop")
                fail_at("TemplateAssertionError", "Can't assign to special loop variable in for-loop target",
                        e.position);
            for_each_part(e, [&](const Expr& each) { self(each, self); });
        };
        const auto enter = [](const Stmt& each) { forbid_loop_target(each); };
        if (s.kind == Stmt::Kind::With) {  // its targets are parameters, which may have any name
            for (const StmtPtr& each : s.body) enter(*each);
            return;
        }
        for_each_part(s, [&](const Expr& e) { see(e, see); }, enter);
    }

    void for_loop(Stmt& s, const Frame& frame) {
        const bool extended = s.recursive || undeclared({"loop"}, s.body).contains("loop") ||
                              has_scoped_block(s.body) || has_scoped_block(s.otherwise);
        Function recursive_function{.parent = frame.function, .plan = &s.function, .slots = {}};
        Function* function = s.recursive ? &recursive_function : frame.function;
        Symbols in_loop(frame.symbols, function), in_else(frame.symbols, function);
        if (extended) {
            in_loop.declare_parameter("loop");
            s.loop_slot = function->slot(in_loop.level, "loop");
        }
        Analyzer analyzer(in_loop);
        analyzer.see(*s.target, true);
        analyzer.see(s.body);
        if (s.test) for_test(s, frame);
        forbid_loop_target(s);
        Analyzer(in_else).see(s.otherwise);

        Frame body_frame = inner(frame, in_loop);
        body_frame.in_loop = true;
        expr(*s.target, body_frame);
        expr(*s.value, frame);
        s.scope = plan(in_loop);
        body(s.body, body_frame);
        Frame else_frame = inner(frame, in_else);
        if (s.recursive) else_frame.in_loop = false;
        s.else_scope = plan(in_else);
        body(s.otherwise, else_frame);
    }

    // The test runs in a generator of its own, over the items before the loop sees them.
    void for_test(Stmt& s, const Frame& frame) {
        Function function{.parent = frame.function, .plan = &s.test_function, .slots = {}};
        Symbols symbols(frame.symbols, &function);
        Analyzer analyzer(symbols);
        analyzer.see(*s.target, true);
        analyzer.see(*s.test);
        s.test_scope = plan(symbols);
        const Frame in = inner(frame, symbols);
        s.test_target = clone(*s.target);
        expr(*s.test_target, in);
        expr(*s.test, in);
    }

    void macro(MacroPlan& m, const Frame& frame, Position position) {
        Function function{.parent = frame.function, .plan = &m.function, .slots = {}};
        Symbols symbols(frame.symbols, &function);
        std::set<std::string> names;
        for (const Parameter& each : m.parameters) names.insert(each.name);
        for (const Parameter& each : m.parameters) symbols.declare_parameter(each.name);
        if (names.size() != m.parameters.size()) fail_in_python("duplicate argument in function definition", position);
        const std::set<std::string> special = undeclared({"caller", "kwargs", "varargs"}, m.body);
        const auto take = [&](const char* name, bool& takes, int& slot) {
            symbols.declare_parameter(name);
            takes = true;
            slot = function.slot(symbols.level, name);
        };
        if (special.contains("caller")) {
            if (names.contains("caller")) {
                const auto found = std::ranges::find(m.parameters, "caller", &Parameter::name);
                if (!found->default_value) {
                    fail_at("TemplateAssertionError",
                            "When defining macros or call blocks the special \"caller\" argument must be omitted or be "
                            "given a default.",
                            position);
                }
                m.takes_caller = true;
            } else {
                take("caller", m.takes_caller, m.caller_slot);
            }
        }
        if (special.contains("kwargs") && !names.contains("kwargs")) take("kwargs", m.takes_kwargs, m.kwargs_slot);
        if (special.contains("varargs") && !names.contains("varargs")) take("varargs", m.takes_varargs, m.varargs_slot);

        Analyzer analyzer(symbols);
        for (Parameter& each : m.parameters)
            if (each.default_value) analyzer.see(*each.default_value);
        analyzer.see(m.body);
        m.scope = plan(symbols);
        Frame in = inner(frame, symbols);
        in.in_loop = false;
        for (Parameter& each : m.parameters) {
            each.slot = function.slot(symbols.level, each.name);
            if (each.default_value) expr(*each.default_value, in);
        }
        body(m.body, in);
    }

    Program& program_;
    std::string python_error_;
    Position python_error_at_;
};

}  // namespace

Program resolve_scopes(Body body) {
    Program program;
    program.body = std::move(body);
    Resolver(program).run();
    return program;
}

}  // namespace minfer::chat::jinja
