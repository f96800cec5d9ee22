// The parsed template. Names are resolved to slots by scopes.h before anything runs.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chat/jinja/operators.h"
#include "chat/jinja/value.h"

namespace minfer::chat::jinja {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;
struct Stmt;
using StmtPtr = std::unique_ptr<Stmt>;
using Body = std::vector<StmtPtr>;

struct Position {
    int line = 0, column = 0;  // from 1, in code points
};

// Where a variable lives: `hops` functions out from the one that runs, at `slot` of its activation.
struct SlotRef {
    int hops = 0, slot = -1;
};

struct CallArguments {
    std::vector<ExprPtr> positional;
    std::vector<std::pair<std::string, ExprPtr>> keyword;
    ExprPtr star, star_star;  // *args, **kwargs; may be null
};

struct Expr {
    enum class Kind {
        Const,    // value; `is_data` for the template's own text
        Name,     // name, ref; `stores` as an assignment's target
        NsRef,    // name.attribute as a target, ref
        Tuple,    // operands
        List,     // operands
        Dict,     // operands: key, value, key, value ...
        Cond,     // operands: test, then, and else or null
        Binary,   // operands: left, right; ops[0]
        And,      // operands: left, right
        Or,       // operands: left, right
        Not,      // operands: one
        Negate,   // operands: one
        Plus,     // operands: one
        Concat,   // operands
        Compare,  // operands: first, and one for each of ops
        GetAttr,  // operands: object; name
        GetItem,  // operands: object, index; the index may be a Slice
        Slice,    // operands: start, stop, step, each may be null
        Call,     // operands: callee; arguments
        Filter,   // operands: input, null in a filter block; name, arguments
        Test,     // operands: input; name, arguments
    };
    Expr(Kind k, Position p) : kind(k), position(p) {}
    Kind kind;
    bool is_data = false;
    bool stores = false;
    bool negates_power = false;  // Binary Pow of a negative constant: the minus counts after the power
    int height = 1;              // of the tree below
    Position position;
    std::string name, attribute;
    Value value;
    std::vector<ExprPtr> operands;
    std::vector<Op> ops;
    CallArguments arguments;
    SlotRef ref;
};

ExprPtr clone(const Expr& expr);

// What a scope does to its slots when it is entered, and which it empties when it is left.
struct ScopePlan {
    enum class Action { Resolve, Alias, Undefined };
    struct Load {
        int slot;
        Action action;
        std::string name;  // Resolve: looked up in the context
        SlotRef from;      // Alias: copied
    };
    std::vector<Load> enter;
    std::vector<int> leave;
};

struct FunctionPlan {
    int slots = 0;
};

struct Parameter {
    std::string name;
    int slot = -1;
    ExprPtr default_value;  // may be null
};

// The function of a macro, a call block's body or a generation block's body.
struct MacroPlan {
    std::string name;  // empty for a call block's
    std::vector<Parameter> parameters;
    bool takes_caller = false, takes_kwargs = false, takes_varargs = false;
    int caller_slot = -1, kwargs_slot = -1, varargs_slot = -1;
    FunctionPlan function;
    ScopePlan scope;
    Body body;
};

struct Stmt {
    enum class Kind {
        Output,       // values
        For,          // target, value (the iterable), test or null, body, otherwise; recursive
        If,           // value, body, branches (each an If), otherwise
        Macro,        // macro, ref
        CallBlock,    // value (a Call), or null for a generation block; macro
        FilterBlock,  // value (a Filter), body
        With,         // targets, values, body
        Set,          // target, value
        SetBlock,     // target, value (a Filter, or null), body
        Block,        // name, body: runs the block of that name
        Autoescape,   // value, body
        Break,
        Continue,
        LoadTemplate,  // extends, include, import, from: there is nothing to load from; value
    };
    Stmt(Kind k, Position p) : kind(k), position(p) {}
    Kind kind;
    Position position;
    std::string name;
    ExprPtr target, value, test;
    std::vector<ExprPtr> targets, values;
    Body body, otherwise, branches;
    bool recursive = false, scoped = false, required = false;
    bool exports = false;               // Set, SetBlock, Macro at the top: into the context too
    std::vector<std::string> imported;  // LoadTemplate: names it would define
    std::string keyword;                // LoadTemplate: "extends" ...

    std::unique_ptr<MacroPlan> macro;
    SlotRef ref;  // Macro: where it is kept
    ScopePlan scope, else_scope, test_scope;
    int loop_slot = -1;                 // For: where `loop` is kept, if the body asks for it
    FunctionPlan function;              // For: of its body, where it is recursive
    FunctionPlan test_function;         // For: of its test
    ExprPtr test_target;                // For: the target within the test's function
    std::vector<std::string> visible;   // scoped Block: names that it sees ...
    std::vector<SlotRef> visible_refs;  // ... and where they are
};

struct BlockPlan {
    std::string name;
    Stmt* statement = nullptr;
    FunctionPlan function;
    ScopePlan scope;
    int self_slot = -1, super_slot = -1;
};

struct Program {
    Body body;
    FunctionPlan function;
    ScopePlan scope;
    int self_slot = -1;
    std::vector<BlockPlan> blocks;
};

}  // namespace minfer::chat::jinja
