#include "chat/jinja/interpreter.h"

#include <fmt/format.h>

#include <utility>

#include "chat/jinja/error.h"
#include "chat/jinja/operators.h"

namespace minfer::chat::jinja {

Activation::Activation(const FunctionPlan& plan, std::shared_ptr<Activation> p)
    : parent(std::move(p)), slots(size_t(plan.slots), missing()) {}

std::string Buffer::take() {
    if (!wrong_type.empty())
        raise_type_error(fmt::format("sequence item 0: expected str instance, {} found", wrong_type));
    return std::move(text);
}

Value missing() { return Value::object(Type::Undefined, nullptr); }
bool is_missing(const Value& value) { return value.is_undefined() && !value.object(); }

Interpreter::Deeper::Deeper(int& depth, int limit) : depth_(depth) {
    if (++depth_ > limit) {
        --depth_;
        raise("RecursionError", "maximum recursion depth exceeded");
    }
}

Interpreter::Inside::Inside(Interpreter& interpreter, std::shared_ptr<Activation> frame, Buffer* out)
    : interpreter_(interpreter), frame_(std::exchange(interpreter.frame_, std::move(frame))), out_(interpreter.out_) {
    interpreter_.out_ = out;
}

Interpreter::Inside::~Inside() {
    interpreter_.frame_ = std::move(frame_);
    interpreter_.out_ = out_;
}

Interpreter::Interpreter(const Program& program, Dict context, const RenderOptions& options)
    : program_(program), options_(options), context_(std::move(context)) {}

Interpreter::~Interpreter() {
    for (const auto& each : captured_) each->slots.clear();
    for (const auto& each : namespaces_) each->attributes.entries.clear();
}

std::string Interpreter::run() {
    Buffer out;
    try {
        const Inside inside(*this, std::make_shared<Activation>(program_.function, nullptr), &out);
        if (program_.self_slot >= 0)
            frame_->slots[size_t(program_.self_slot)] = Value::object(Type::TemplateReference, nullptr);
        enter(program_.scope);
        execute(program_.body);
        return out.take();
    } catch (const TemplateFailure& e) {
        if (e.line() || !at_) throw;
        throw TemplateFailure(e.type(), e.message(), at_->line, at_->column);
    }
}

void Interpreter::spend(uint64_t steps) {
    steps_ += steps;
    if (steps_ > options_.limits.steps)
        raise("StepLimit", fmt::format("the template takes more than {} steps", options_.limits.steps));
}

void Interpreter::spend_on(const Value& value) {
    if (value.is_str())
        spend(value.text().size() / 16);
    else if (value.is(Type::Range))
        spend(uint64_t(value.as_range().length()) / 4);
    else if (value.object())
        spend(value.object()->weight / 4);
}

void Interpreter::spend_on(const Arguments& arguments) {
    for (const Value& each : arguments.positional) spend_on(each);
    for (const auto& [name, value] : arguments.keyword) spend_on(value);
}

void Interpreter::keep(std::shared_ptr<Namespace> made) {
    spend(64);
    namespaces_.push_back(std::move(made));
}

Value Interpreter::lookup(const std::string& name) const {
    const Value key = Value::string(name);
    if (const Value* found = exported_.find(key)) return *found;
    if (const Value* found = context_.find(key)) return *found;
    return missing();
}

Value& Interpreter::slot(const SlotRef& ref) {
    Activation* frame = frame_.get();
    for (int i = 0; i < ref.hops; ++i) frame = frame->parent.get();
    return frame->slots[size_t(ref.slot)];
}

void Interpreter::enter(const ScopePlan& scope) {
    for (const ScopePlan::Load& load : scope.enter) {
        Value& to = frame_->slots[size_t(load.slot)];
        switch (load.action) {
            case ScopePlan::Action::Resolve:
                to = lookup(load.name);
                break;
            case ScopePlan::Action::Alias:
                to = slot(load.from);
                break;
            case ScopePlan::Action::Undefined:
                to = missing();
                break;
        }
    }
}

void Interpreter::leave(const ScopePlan& scope) {
    for (const int each : scope.leave) frame_->slots[size_t(each)] = missing();
}

}  // namespace minfer::chat::jinja
