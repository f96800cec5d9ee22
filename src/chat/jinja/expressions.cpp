#include <fmt/format.h>

#include <utility>

#include "chat/jinja/error.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/tests.h"

namespace minfer::chat::jinja {

namespace {

constexpr int kMaxDepth = 1200;  // as for statements, which share the count

}  // namespace

void Interpreter::step(const Position& position) {
    at_ = &position;
    if (++steps_ > options_.limits.steps) spend(0);
}

Value Interpreter::eval(const Expr& e) {
    const Deeper deeper(depth_, kMaxDepth);
    step(e.position);
    const auto operand = [&](size_t i) { return eval(*e.operands[i]); };
    switch (e.kind) {
        case Expr::Kind::Const:
            return e.value;
        case Expr::Kind::Name: {
            const Value& value = slot(e.ref);
            return is_missing(value) ? undefined_named(e.name) : value;
        }
        case Expr::Kind::NsRef:
            return slot(e.ref);
        case Expr::Kind::Tuple:
        case Expr::Kind::List: {
            std::vector<Value> items;
            items.reserve(e.operands.size());
            for (const ExprPtr& each : e.operands) items.push_back(eval(*each));
            return e.kind == Expr::Kind::List ? Value::list(std::move(items)) : Value::tuple(std::move(items));
        }
        case Expr::Kind::Dict: {
            std::vector<Value> parts;
            parts.reserve(e.operands.size());
            for (const ExprPtr& each : e.operands) parts.push_back(eval(*each));
            at_ = &e.position;
            const auto dict = std::make_shared<Dict>();
            for (size_t i = 0; i < parts.size(); i += 2) {
                spend_on(parts[i]);  // hashed
                dict->set(parts[i], parts[i + 1]);
            }
            return make_dict(dict);
        }
        case Expr::Kind::Cond:
            if (truth(operand(0))) return operand(1);
            if (e.operands[2]) return operand(2);
            return undefined_hint(
                fmt::format("the inline if-expression on line {} evaluated to false and no else section was defined.",
                            e.position.line));
        case Expr::Kind::Binary: {
            const Value left = operand(0), right = operand(1);
            at_ = &e.position;
            Value result =
                e.negates_power ? negate(binary(Op::Pow, negate(left), right)) : binary(e.ops[0], left, right);
            spend_on(result);
            return result;
        }
        case Expr::Kind::And: {
            Value left = operand(0);
            return truth(left) ? operand(1) : left;
        }
        case Expr::Kind::Or: {
            Value left = operand(0);
            return truth(left) ? left : operand(1);
        }
        case Expr::Kind::Not:
            return Value::boolean(!truth(operand(0)));
        case Expr::Kind::Negate: {
            const Value value = operand(0);
            at_ = &e.position;
            return negate(value);
        }
        case Expr::Kind::Plus: {
            const Value value = operand(0);
            at_ = &e.position;
            return plus(value);
        }
        case Expr::Kind::Concat:
            return concatenated(e);
        case Expr::Kind::Compare:
            return compare_chain(e);
        case Expr::Kind::GetAttr: {
            const Value object = operand(0);
            at_ = &e.position;
            return get_attribute(object, e.name);
        }
        case Expr::Kind::GetItem:
            return item_of(e);
        case Expr::Kind::Slice:
            raise("SyntaxError", "invalid syntax");  // item_of() takes them; scopes.cpp refuses them elsewhere
        case Expr::Kind::Call: {
            const Value callee = operand(0);
            const Arguments arguments = evaluate(e.arguments);
            at_ = &e.position;
            Value result = call(callee, arguments);
            spend_on(result);
            return result;
        }
        case Expr::Kind::Filter:
            return filtered(e, nullptr);
        case Expr::Kind::Test: {
            const Value input = operand(0);
            const Arguments arguments = evaluate(e.arguments);
            at_ = &e.position;
            const TestFunction test = find_test(e.name);
            if (!test) raise("TemplateRuntimeError", fmt::format("No test named {} found.", repr_text(e.name)));
            spend_on(input);
            spend_on(arguments);
            return Value::boolean(test(*this, input, arguments));
        }
    }
    return {};
}

Value Interpreter::concatenated(const Expr& e) {
    std::vector<Value> parts;
    parts.reserve(e.operands.size());
    for (const ExprPtr& each : e.operands) parts.push_back(eval(*each));
    at_ = &e.position;
    std::string text;
    bool markup = false;
    for (const Value& each : parts) markup |= autoescape_ && each.is_markup();
    for (const Value& each : parts) {
        text += markup ? escape(each).text() : str(each);
        if (text.size() > kMaxBytes) fail_too_large("text");
    }
    Value result = Value::string(std::move(text), markup);
    spend_on(result);
    return result;
}

Value Interpreter::compare_chain(const Expr& e) {
    Value left = eval(*e.operands[0]);
    for (size_t i = 0; i < e.ops.size(); ++i) {
        Value right = eval(*e.operands[i + 1]);
        at_ = &e.position;
        spend_on(left);
        spend_on(right);
        if (!compare(e.ops[i], left, right)) return Value::boolean(false);
        left = std::move(right);
    }
    return Value::boolean(true);
}

Value Interpreter::item_of(const Expr& e) {
    const Value object = eval(*e.operands[0]);
    const Expr& index = *e.operands[1];
    if (index.kind == Expr::Kind::Slice) {
        const Value start = eval_or_none(index.operands[0]), stop = eval_or_none(index.operands[1]),
                    stride = eval_or_none(index.operands[2]);
        at_ = &e.position;
        Value result = slice(object, start, stop, stride);
        spend_on(object);
        return result;
    }
    const Value key = eval(index);
    at_ = &e.position;
    if (object.is_str() && !object.as_str().ascii()) spend_on(object);  // its letters are counted out
    spend_on(key);                                                      // hashed
    return get_item(object, key);
}

Value Interpreter::filtered(const Expr& e, const Value* block_text) {
    const Deeper deeper(depth_, kMaxDepth);
    const Value input = !e.operands[0]                                            ? *block_text
                        : block_text && e.operands[0]->kind == Expr::Kind::Filter ? filtered(*e.operands[0], block_text)
                                                                                  : eval(*e.operands[0]);
    const Arguments arguments = evaluate(e.arguments);
    at_ = &e.position;
    const FilterFunction filter = find_filter(e.name);
    if (!filter) raise("TemplateRuntimeError", fmt::format("No filter named {} found.", repr_text(e.name)));
    spend_on(input);
    spend_on(arguments);
    Value result = filter(*this, input, arguments);
    spend_on(result);
    at_ = &e.position;
    return result;
}

Value Interpreter::call_filter(const Value& name, const Value& input, const Arguments& arguments) {
    const FilterFunction filter = name.is_str() ? find_filter(name.text()) : nullptr;
    if (!filter) {
        std::string message = fmt::format("No filter named {}.", repr(name));
        if (name.is_undefined())
            message += fmt::format(" ({}; did you forget to quote the callable name?)", name.as_undefined().message());
        raise("TemplateRuntimeError", message);
    }
    spend(1);
    spend_on(input);
    spend_on(arguments);
    Value result = filter(*this, input, arguments);
    spend_on(result);
    return result;
}

bool Interpreter::call_test(const Value& name, const Value& input, const Arguments& arguments) {
    const TestFunction test = name.is_str() ? find_test(name.text()) : nullptr;
    if (!test) {
        std::string message = fmt::format("No test named {}.", repr(name));
        if (name.is_undefined())
            message += fmt::format(" ({}; did you forget to quote the callable name?)", name.as_undefined().message());
        raise("TemplateRuntimeError", message);
    }
    spend(1);
    spend_on(input);
    spend_on(arguments);
    return test(*this, input, arguments);
}

}  // namespace minfer::chat::jinja
