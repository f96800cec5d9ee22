#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "chat/jinja/error.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/operators.h"

namespace minfer::chat::jinja {

namespace {

constexpr int kMaxDepth = 1200;  // C++ calls of this interpreter within each other, well inside a stack of 8 MiB

}  // namespace

// The items of a loop that pass its `if`, asked for one at a time, for the test may depend on what the body does.
struct TestedIterator : Iterator {
    TestedIterator(Interpreter& i, const Stmt& s, Value items, std::shared_ptr<Activation> parent)
        : interpreter(i),
          statement(s),
          source(std::move(items)),
          frame(std::make_shared<Activation>(s.test_function, std::move(parent))) {}

    bool next(Value& out) override {
        const Interpreter::Inside inside(interpreter, frame, interpreter.out_);
        if (!iterator) {
            interpreter.enter(statement.test_scope);
            iterator = iterate(source);
        }
        for (Value each; iterator->as_iterator().next(each);) {
            interpreter.assign(*statement.test_target, each, false);
            if (!truth(interpreter.eval(*statement.test))) continue;
            out = each;
            return true;
        }
        return false;
    }

    Interpreter& interpreter;
    const Stmt& statement;
    Value source;
    std::optional<Value> iterator;
    std::shared_ptr<Activation> frame;
};

Interpreter::Flow Interpreter::execute(const Body& body) {
    for (const StmtPtr& each : body) {
        const Flow flow = execute(*each);
        if (flow != Flow::Normal) return flow;
    }
    return Flow::Normal;
}

Interpreter::Flow Interpreter::execute(const Stmt& s) {
    const Deeper deeper(depth_, kMaxDepth);
    step(s.position);
    switch (s.kind) {
        case Stmt::Kind::Output:
            output(s);
            return Flow::Normal;
        case Stmt::Kind::For:
            return for_loop(s);
        case Stmt::Kind::If:
            return if_else(s);
        case Stmt::Kind::Macro: {
            const Value made = make_macro(*s.macro);
            slot(s.ref) = made;
            if (s.exports) exported_.set(s.name, made);
            return Flow::Normal;
        }
        case Stmt::Kind::CallBlock:
            call_block(s);
            return Flow::Normal;
        case Stmt::Kind::FilterBlock:
            return filter_block(s);
        case Stmt::Kind::With:
            return with(s);
        case Stmt::Kind::Set:
            set(s);
            return Flow::Normal;
        case Stmt::Kind::SetBlock:
            return set_block(s);
        case Stmt::Kind::Block:
            run_block(s);
            return Flow::Normal;
        case Stmt::Kind::Autoescape:
            return autoescape_block(s);
        case Stmt::Kind::Break:
            return Flow::Break;
        case Stmt::Kind::Continue:
            return Flow::Continue;
        case Stmt::Kind::LoadTemplate:
            load_template(s);
    }
    return Flow::Normal;
}

void Interpreter::write_text(std::string_view text) {
    written_ += text.size();
    if (written_ > options_.limits.output)
        raise("OutputLimit", fmt::format("the template writes more than {} bytes", options_.limits.output));
    out_->text += text;
}

void Interpreter::write(const Value& value) {
    if (value.is_str() && (!autoescape_ || value.is_markup())) return write_text(value.text());
    write_text(autoescape_ ? escape(value).text() : str(value));
}

void Interpreter::write_result(const Value& value) {
    if (value.is_str()) return write_text(value.text());
    if (out_->wrong_type.empty()) out_->wrong_type = type_name(value);
}

void Interpreter::output(const Stmt& s) {
    for (const ExprPtr& each : s.values) {
        if (each->is_data) {
            write_text(each->value.text());
            continue;
        }
        const Value value = eval(*each);
        at_ = &each->position;
        write(value);
    }
}

std::string Interpreter::captured(const Body& body, Flow& flow) {
    Buffer text;
    const Inside inside(*this, frame_, &text);
    flow = execute(body);
    return flow == Flow::Normal ? text.take() : std::string();
}

Interpreter::Flow Interpreter::if_else(const Stmt& s) {
    if (truth(eval(*s.value))) return execute(s.body);
    for (const StmtPtr& branch : s.branches) {
        step(branch->position);
        if (truth(eval(*branch->value))) return execute(branch->body);
    }
    return execute(s.otherwise);
}

Interpreter::Flow Interpreter::for_loop(const Stmt& s) {
    const Value items = eval(*s.value);
    at_ = &s.position;
    if (!s.recursive) return loop_over(s, items, {}, 0);
    captured_.push_back(frame_);
    write(recursive_loop(s, frame_, items, 0));
    return Flow::Normal;
}

Value Interpreter::recursive_loop(const Stmt& s, std::shared_ptr<Activation> parent, const Value& items,
                                  int64_t depth) {
    const Deeper deeper(calls_, options_.limits.depth);
    spend(16);
    Buffer text;
    {
        const Inside inside(*this, std::make_shared<Activation>(s.function, parent), &text);
        captured_.push_back(frame_);
        const Loop::Recurse recurse = [this, &s, parent = std::move(parent)](const Value& inner, int64_t inner_depth) {
            return recursive_loop(s, parent, inner, inner_depth);
        };
        loop_over(s, items, recurse, depth);
    }
    return Value::string(text.take(), autoescape_);
}

Interpreter::Flow Interpreter::loop_over(const Stmt& s, const Value& items, Loop::Recurse recurse, int64_t depth) {
    Value source = items;
    if (s.test) {
        // The test belongs to the function around a recursive loop.
        const std::shared_ptr<Activation>& around = s.recursive ? frame_->parent : frame_;
        captured_.push_back(around);
        spend(16);
        source = make_iterator(std::make_shared<TestedIterator>(*this, s, items, around));
    }
    bool completed = false;  // a round that ends by `continue` or `break` does not count, as in Jinja2
    const auto goes_on = [&](const Value& item) {
        step(s.position);
        assign(*s.target, item, false);
        enter(s.scope);
        const Flow flow = execute(s.body);
        completed |= flow == Flow::Normal;
        return flow != Flow::Break;
    };
    if (s.loop_slot >= 0) {
        const auto loop = std::make_shared<Loop>(source, std::move(recurse), depth);
        while (loop->advance()) {
            frame_->slots[size_t(s.loop_slot)] = Value::object(Type::Loop, loop);
            if (!goes_on(loop->current)) break;
        }
    } else {
        const Value iterator = iterate(source);
        for (Value each; iterator.as_iterator().next(each);)
            if (!goes_on(each)) break;
    }
    leave(s.scope);
    if (completed || s.otherwise.empty()) return Flow::Normal;
    enter(s.else_scope);
    const Flow flow = execute(s.otherwise);
    leave(s.else_scope);
    return flow;
}

Interpreter::Flow Interpreter::filter_block(const Stmt& s) {
    enter(s.scope);
    Flow flow = Flow::Normal;
    const Value text = Value::string(captured(s.body, flow), autoescape_);
    if (flow == Flow::Normal) write_result(filtered(*s.value, &text));
    if (flow == Flow::Normal) leave(s.scope);
    return flow;
}

Interpreter::Flow Interpreter::with(const Stmt& s) {
    enter(s.scope);
    for (size_t i = 0; i < s.targets.size(); ++i) assign(*s.targets[i], eval(*s.values[i]), false);
    const Flow flow = execute(s.body);
    if (flow == Flow::Normal) leave(s.scope);
    return flow;
}

Interpreter::Flow Interpreter::autoescape_block(const Stmt& s) {
    enter(s.scope);
    const bool before = std::exchange(autoescape_, truth(eval(*s.value)));
    const Flow flow = execute(s.body);
    autoescape_ = before;
    if (flow == Flow::Normal) leave(s.scope);
    return flow;
}

void Interpreter::check_namespaces(const Expr& target) {
    if (target.kind == Expr::Kind::NsRef && !slot(target.ref).is(Type::Namespace)) {
        at_ = &target.position;
        raise("TemplateRuntimeError", "cannot assign attribute on non-namespace object");
    }
    for (const ExprPtr& each : target.operands) check_namespaces(*each);
}

void Interpreter::set(const Stmt& s) {
    check_namespaces(*s.target);
    const Value value = eval(*s.value);
    at_ = &s.position;
    assign(*s.target, value, s.exports);
}

Interpreter::Flow Interpreter::set_block(const Stmt& s) {
    enter(s.scope);
    Flow flow = Flow::Normal;
    const Value text = Value::string(captured(s.body, flow), autoescape_);
    if (flow != Flow::Normal) return flow;
    const Value value = s.value ? filtered(*s.value, &text) : text;
    at_ = &s.position;
    if (s.target->kind == Expr::Kind::NsRef && !slot(s.target->ref).is(Type::Namespace)) {
        const Value& owner = slot(s.target->ref);
        raise_type_error(fmt::format("'{}' object does not support item assignment",
                                     is_missing(owner) ? "_MissingType" : type_name(owner)));
    }
    assign(*s.target, autoescape_ ? Value::string(str(value), true) : value, s.exports);
    leave(s.scope);
    return flow;
}

void Interpreter::assign(const Expr& target, const Value& value, bool exports) {
    if (target.kind == Expr::Kind::Name) {
        slot(target.ref) = value;
        if (exports) exported_.set(target.name, value);
        return;
    }
    if (target.kind == Expr::Kind::NsRef) {
        const Value owner = slot(target.ref);
        if (!owner.is(Type::Namespace)) raise_type_error("object does not support item assignment");
        owner.as_namespace().attributes.set(target.attribute, value);
        return;
    }
    const size_t wanted = target.operands.size();
    if (!is_iterable(value)) raise_type_error(fmt::format("cannot unpack non-iterable {} object", type_name(value)));
    std::vector<Value> items;
    const Value iterator = iterate(value);
    for (Value each; items.size() <= wanted && iterator.as_iterator().next(each);) items.push_back(each);
    if (items.size() > wanted) raise_value_error(fmt::format("too many values to unpack (expected {})", wanted));
    if (items.size() < wanted)
        raise_value_error(fmt::format("not enough values to unpack (expected {}, got {})", wanted, items.size()));
    for (size_t i = 0; i < wanted; ++i) assign(*target.operands[i], items[i], exports);
}

void Interpreter::load_template(const Stmt& s) {
    eval(*s.value);
    at_ = &s.position;
    raise_type_error("no loader for this environment specified");
}

}  // namespace minfer::chat::jinja
