#include "chat/jinja/symbols.h"

#include "chat/jinja/visit.h"

namespace minfer::chat::jinja {

int Function::slot(int level, const std::string& name) {
    const auto [it, is_new] = slots.try_emplace({level, name}, plan->slots);
    if (is_new) ++plan->slots;
    return it->second;
}

std::optional<Symbols::Ref> Symbols::find(const std::string& name) const {
    if (refs.contains(name)) return Ref{level, function, name};
    return parent ? parent->find(name) : std::nullopt;
}

void Symbols::store(const std::string& name) {
    stores.insert(name);
    if (refs.contains(name)) return;
    Load load;
    if (parent) {
        if (const auto outer = parent->find(name)) {
            load.action = Action::Alias;
            load.from = *outer;
        }
    }
    refs.insert(name);
    loads[name] = load;
}

void Symbols::declare_parameter(const std::string& name) {
    stores.insert(name);
    refs.insert(name);
    loads[name] = Load{.is_parameter = true, .action = Action::Undefined, .from = {}};
}

void Symbols::load(const std::string& name) {
    if (find(name)) return;
    refs.insert(name);
    loads[name] = Load{.is_parameter = false, .action = Action::Resolve, .from = {}};
}

void Symbols::merge(const std::vector<Symbols>& branches) {
    std::set<std::string> assigned;
    for (const Symbols& b : branches) assigned.insert(b.stores.begin(), b.stores.end());
    for (const std::string& name : stores) assigned.erase(name);
    for (const Symbols& b : branches) {
        refs.insert(b.refs.begin(), b.refs.end());
        for (const auto& [name, load] : b.loads) loads[name] = load;
        stores.insert(b.stores.begin(), b.stores.end());
    }
    for (const std::string& name : assigned) {
        Load load;
        load.action = Action::Resolve;
        if (const auto outer = parent ? parent->find(name) : std::nullopt) {
            load.action = Action::Alias;
            load.from = *outer;
        }
        loads[name] = load;
    }
}

void Analyzer::see(const Expr& e, bool as_parameter) {
    if (e.kind == Expr::Kind::Name) {
        if (as_parameter)
            symbols_->declare_parameter(e.name);
        else if (e.stores)
            symbols_->store(e.name);
        else
            symbols_->load(e.name);
    } else if (e.kind == Expr::Kind::NsRef) {
        symbols_->load(e.name);
    }
    for_each_part(e, [&](const Expr& each) { see(each, as_parameter); });
}

void Analyzer::see(const Body& body) {
    for (const StmtPtr& each : body) see(*each);
}

void Analyzer::see(const Stmt& s) {
    switch (s.kind) {
        case Stmt::Kind::If:
            see_if(s);
            break;
        case Stmt::Kind::Macro:
            symbols_->store(s.name);
            break;
        case Stmt::Kind::Set:
            see(*s.value);
            see(*s.target);
            break;
        case Stmt::Kind::SetBlock:
            see(*s.target);
            break;
        case Stmt::Kind::For:
        case Stmt::Kind::FilterBlock:
            see(*s.value);
            break;
        case Stmt::Kind::CallBlock:
            if (s.value) see(*s.value);
            break;
        case Stmt::Kind::Output:
        case Stmt::Kind::With:
            for (const ExprPtr& each : s.values) see(*each);
            break;
        case Stmt::Kind::LoadTemplate:
            see(*s.value);
            for (const std::string& name : s.imported) symbols_->store(name);
            break;
        case Stmt::Kind::Block:
        case Stmt::Kind::Autoescape:
        case Stmt::Kind::Break:
        case Stmt::Kind::Continue:
            break;
    }
}

void Analyzer::see_if(const Stmt& s) {
    see(*s.value);
    Symbols* original = symbols_;
    std::vector<Symbols> branches;
    for (const Body* body : {&s.body, &s.branches, &s.otherwise}) {
        Symbols copy = *original;
        symbols_ = &copy;
        see(*body);
        branches.push_back(std::move(copy));
    }
    symbols_ = original;
    symbols_->merge(branches);
}

namespace {

class Undeclared {
  public:
    explicit Undeclared(std::set<std::string> names) : names_(std::move(names)) {}
    std::set<std::string> in(const Body& body) {
        for (const StmtPtr& each : body) see(*each);
        return found_;
    }

  private:
    void see(const Expr& e) {
        if (e.kind == Expr::Kind::Name) name(e.name, e.stores);
        for_each_part(e, [&](const Expr& each) { see(each); });
    }
    void name(const std::string& n, bool stores) {
        if (done()) return;
        if (!stores && names_.contains(n))
            found_.insert(n);
        else
            names_.erase(n);
    }
    bool done() const { return found_ == names_ && !found_.empty(); }
    void see(const Stmt& s) {
        if (s.kind == Stmt::Kind::Block) return;
        if (s.macro && s.value) see(*s.value);
        if (s.macro)
            for (const Parameter& each : s.macro->parameters) name(each.name, true);
        for_each_part(s, [&](const Expr& each) { see(each); }, [&](const Stmt& each) { see(each); });
    }
    std::set<std::string> names_, found_;
};

}  // namespace

std::set<std::string> undeclared(std::set<std::string> names, const Body& body) {
    return Undeclared(std::move(names)).in(body);
}

}  // namespace minfer::chat::jinja
