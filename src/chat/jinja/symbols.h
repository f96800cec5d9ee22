// The names of a template's scopes: what each loads and stores, and in which function of the Python that Jinja2 would
// write its slots lie. scopes.cpp makes plans of them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "chat/jinja/ast.h"

namespace minfer::chat::jinja {

// Scopes of one level share a function's slots by name.
struct Function {
    Function* parent = nullptr;
    FunctionPlan* plan = nullptr;
    std::map<std::pair<int, std::string>, int> slots;  // level and name

    int slot(int level, const std::string& name);
};

// The names of one scope.
struct Symbols {
    using Action = ScopePlan::Action;
    struct Ref {
        int level;
        Function* function;
        std::string name;
    };
    struct Load {
        bool is_parameter = false;
        Action action = Action::Undefined;
        Ref from{};  // Alias
    };

    Symbols(Symbols* p, Function* f) : parent(p), level(p ? p->level + 1 : 0), function(f) {}
    Symbols* parent;
    int level;
    Function* function;
    std::set<std::string> refs, stores;
    std::map<std::string, Load> loads;

    // Where the name lies, here or in a scope around this one.
    std::optional<Ref> find(const std::string& name) const;
    void store(const std::string& name);
    void declare_parameter(const std::string& name);
    void load(const std::string& name);
    // The branches of an `if` are analyzed on copies; what any of them assigns is assigned, and is loaded beforehand.
    void merge(const std::vector<Symbols>& branches);
};

// Collects the names that a scope's own statements load and store; nested scopes are left to themselves.
class Analyzer {
  public:
    explicit Analyzer(Symbols& symbols) : symbols_(&symbols) {}

    void see(const Expr& e, bool as_parameter = false);
    void see(const Body& body);
    void see(const Stmt& s);

  private:
    void see_if(const Stmt& s);

    Symbols* symbols_;
};

// Those of `names` that a body reads before it assigns them, in any scope.
std::set<std::string> undeclared(std::set<std::string> names, const Body& body);

}  // namespace minfer::chat::jinja
