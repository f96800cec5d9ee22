// Calls, macros and blocks; attributes and items as Jinja2's sandbox looks them up.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "chat/jinja/error.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/operators.h"

namespace minfer::chat::jinja {

namespace {

constexpr std::string_view kCallee = "jinja2.sandbox.SandboxedEnvironment.call()";  // what a call in a template calls

}  // namespace

Value Interpreter::call(const Value& callee, const Arguments& arguments) {
    if (callee.is_undefined()) fail_undefined(callee);
    if (callee.is(Type::Loop)) return callee.as_loop().call(*this, arguments);
    if (!callee.is(Type::Callable)) raise_type_error(fmt::format("'{}' object is not callable", type_name(callee)));
    return callee.as_callable().call(*this, arguments);
}

Arguments Interpreter::evaluate(const CallArguments& given, const Value* caller) {
    Arguments out;
    out.positional.reserve(given.positional.size());
    for (const ExprPtr& each : given.positional) out.positional.push_back(eval(*each));
    // Python evaluates *args before the keywords, wherever it stands.
    if (given.star) {
        const Value star = eval(*given.star);
        if (!is_iterable(star)) {
            raise_type_error(fmt::format("{} argument after * must be an iterable, not {}", kCallee, type_name(star)));
        }
        const std::vector<Value> items = to_vector(star);
        out.positional.insert(out.positional.end(), items.begin(), items.end());
        spend(items.size());
    }
    for (const auto& [name, value] : given.keyword) out.keyword.emplace_back(name, eval(*value));
    if (caller) out.keyword.emplace_back("caller", *caller);
    if (given.star_star) {
        const Value star = eval(*given.star_star);
        if (star.is_undefined()) fail_undefined(star);
        if (!star.is(Type::Dict))
            raise_type_error(fmt::format("{} argument after ** must be a mapping, not {}", kCallee, type_name(star)));
        for (const auto& [key, value] : star.as_dict().entries) {
            if (!key.is_str()) raise_type_error("keywords must be strings");
            for (const auto& each : out.keyword)
                if (each.first == key.text())
                    raise_type_error(
                        fmt::format("{} got multiple values for keyword argument '{}'", kCallee, key.text()));
            out.keyword.emplace_back(key.text(), value);
        }
    }
    return out;
}

Value Interpreter::make_macro(const MacroPlan& plan) {
    spend(16);
    captured_.push_back(frame_);
    const auto call = [&plan, parent = frame_, escapes = autoescape_](Interpreter& i, const Arguments& arguments) {
        const bool before = std::exchange(i.autoescape_, escapes);  // as where the macro was written
        Value result = i.call_macro(plan, parent, arguments);
        i.autoescape_ = before;
        return before ? Value::string(result.text(), true) : result;
    };
    return Value::object(Type::Callable, std::make_shared<MacroObject>(plan, call));
}

Value Interpreter::call_macro(const MacroPlan& plan, const std::shared_ptr<Activation>& parent,
                              const Arguments& arguments) {
    const Deeper deeper(calls_, options_.limits.depth);
    const std::string name = plan.name.empty() ? "None" : repr_text(plan.name);
    auto frame = std::make_shared<Activation>(plan.function, parent);
    std::vector<std::pair<std::string, Value>> keyword = arguments.keyword;
    const auto take = [&](std::string_view wanted) {
        const auto found =
            std::ranges::find(keyword, wanted, [](const auto& k) -> std::string_view { return k.first; });
        if (found == keyword.end()) return missing();
        Value value = found->second;
        keyword.erase(found);
        return value;
    };
    const size_t count = plan.parameters.size();
    const size_t taken = std::min(count, arguments.positional.size());
    bool found_caller = false;
    for (size_t i = 0; i < count; ++i) {
        const Parameter& parameter = plan.parameters[i];
        if (parameter.name == "caller" && (i >= taken || taken == count)) found_caller = true;
        frame->slots[size_t(parameter.slot)] = i < taken ? arguments.positional[i] : take(parameter.name);
    }
    if (plan.takes_caller && !found_caller) {
        Value caller = take("caller");
        if (is_missing(caller) || caller.is_none()) {
            auto u = std::make_shared<UndefinedObject>();
            u->hint = "No caller defined";
            u->name = Value::string("caller");
            caller = Value::object(Type::Undefined, std::move(u));
        }
        if (plan.caller_slot >= 0) frame->slots[size_t(plan.caller_slot)] = caller;
    }
    if (plan.takes_kwargs) {
        const auto dict = std::make_shared<Dict>();
        for (const auto& [key, value] : keyword) dict->set(key, value);
        frame->slots[size_t(plan.kwargs_slot)] = make_dict(dict);
    } else if (!keyword.empty()) {
        if (std::ranges::count(keyword, "caller", [](const auto& k) { return k.first; })) {
            raise_type_error(fmt::format(
                "macro {} was invoked with two values for the special caller argument. This is most likely a bug.",
                name));
        }
        raise_type_error(fmt::format("macro {} takes no keyword argument {}", name, repr_text(keyword[0].first)));
    }
    if (plan.takes_varargs) {
        frame->slots[size_t(plan.varargs_slot)] =
            Value::tuple({arguments.positional.begin() + long(taken), arguments.positional.end()});
    } else if (arguments.positional.size() > count) {
        raise_type_error(fmt::format("macro {} takes not more than {} argument(s)", name, count));
    }

    Buffer text;
    const Inside inside(*this, frame, &text);
    enter(plan.scope);
    for (const Parameter& parameter : plan.parameters) {
        Value& value = frame->slots[size_t(parameter.slot)];
        if (!is_missing(value)) continue;
        if (parameter.default_value) {
            Value given = eval(*parameter.default_value);
            frame->slots[size_t(parameter.slot)] = std::move(given);
        } else {
            value = undefined_hint(fmt::format("parameter {} was not provided", repr_text(parameter.name)));
        }
    }
    execute(plan.body);
    return Value::string(text.take());
}

void Interpreter::call_block(const Stmt& s) {
    const Value caller = make_macro(*s.macro);
    if (!s.value) {  // a generation block: its body, unchanged
        write_result(call(caller, {}));
        return;
    }
    const Value callee = eval(*s.value->operands[0]);
    const Arguments arguments = evaluate(s.value->arguments, &caller);
    at_ = &s.position;
    write_result(call(callee, arguments));
}

void Interpreter::render_block(const BlockPlan& block, Buffer& to) {
    const Deeper deeper(calls_, options_.limits.depth);
    const Inside inside(*this, std::make_shared<Activation>(block.function, nullptr), &to);
    if (block.self_slot >= 0) frame_->slots[size_t(block.self_slot)] = Value::object(Type::TemplateReference, nullptr);
    if (block.super_slot >= 0) {
        frame_->slots[size_t(block.super_slot)] =
            undefined_hint(fmt::format("there is no parent block called {}.", repr_text(block.name)));
    }
    enter(block.scope);
    execute(block.statement->body);
}

void Interpreter::run_block(const Stmt& s) {
    const auto block = std::ranges::find(program_.blocks, s.name, &BlockPlan::name);
    if (s.required) raise("TemplateRuntimeError", fmt::format("Required block {} not found", repr_text(s.name)));
    if (!s.scoped) return render_block(*block, *out_);
    const Dict before = exported_;
    for (size_t i = 0; i < s.visible.size(); ++i) {
        const Value& value = slot(s.visible_refs[i]);
        if (!is_missing(value)) exported_.set(s.visible[i], value);
    }
    render_block(*block, *out_);
    exported_ = before;
}

std::optional<Value> Interpreter::block_or_nothing(const Value& name) {
    if (!name.is_str()) return std::nullopt;
    const auto block = std::ranges::find(program_.blocks, name.text(), &BlockPlan::name);
    if (block == program_.blocks.end()) return std::nullopt;
    return make_callable(Callable::Kind::BlockReference, name.text(),
                         [&plan = *block](Interpreter& i, const Arguments& a) {
                             if (!a.positional.empty() || !a.keyword.empty())
                                 raise_type_error("BlockReference.__call__() takes 1 positional argument");
                             Buffer text;
                             i.render_block(plan, text);
                             return Value::string(text.take(), i.autoescape_);
                         });
}

std::optional<Value> Interpreter::attribute(const Value& object, const std::string& name) {
    if (object.is(Type::Loop)) return object.as_loop().attribute(name, object);
    return find_attribute(object, name);
}

namespace {

Value unsafe(const Value& object, const std::string& name) {
    auto u = std::make_shared<UndefinedObject>();
    u->hint =
        fmt::format("access to attribute {} of {} object is unsafe.", repr_text(name), repr_text(type_name(object)));
    u->name = Value::string(name);
    u->error_type = "SecurityError";
    return Value::object(Type::Undefined, std::move(u));
}

}  // namespace

Value Interpreter::get_attribute(const Value& object, const std::string& name) {
    if (object.is_undefined()) {
        if (find_attribute(object, name)) return unsafe(object, name);
        fail_undefined(object);
    }
    if (const auto found = attribute(object, name))
        return is_safe_attribute(object, name) ? *found : unsafe(object, name);
    const Value key = Value::string(name);
    const auto found = object.is(Type::TemplateReference) ? block_or_nothing(key) : item(object, key);
    return found ? *found : undefined_of(object, key);
}

Value Interpreter::get_item(const Value& object, const Value& key) {
    const auto found = object.is(Type::TemplateReference) ? block_or_nothing(key) : item(object, key);
    if (found) return *found;
    if (key.is_str()) {
        if (const auto value = attribute(object, key.text()))
            return is_safe_attribute(object, key.text()) ? *value : unsafe(object, key.text());
    }
    return undefined_of(object, key);
}

}  // namespace minfer::chat::jinja
