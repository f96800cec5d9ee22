#include "chat/jinja/loop.h"

#include <fmt/format.h>

#include <utility>

#include "chat/jinja/arguments.h"
#include "chat/jinja/error.h"
#include "chat/jinja/operators.h"

namespace minfer::chat::jinja {

Loop::Loop(Value iterable, Recurse recurse, int64_t level)
    : iterable_(std::move(iterable)), iterator_(iterate(iterable_)), recurse_(std::move(recurse)), depth0_(level) {}

bool Loop::peek() {
    if (after_) return true;
    Value item;
    if (!iterator_.as_iterator().next(item)) return false;
    after_ = item;
    return true;
}

bool Loop::advance() {
    if (!peek()) return false;
    ++index0_;
    before_ = current;
    current = *std::exchange(after_, std::nullopt);
    return true;
}

int64_t Loop::length() {
    if (length_) return *length_;
    if (const auto sized = length_if_sized(iterable_)) {
        length_ = int64_t(*sized);
    } else {
        const Value rest = Value::list(to_vector(iterator_));
        iterator_ = iterate(rest);
        length_ = int64_t(rest.items().size()) + index0_ + 1 + (after_ ? 1 : 0);
    }
    return *length_;
}

std::optional<Value> Loop::attribute(std::string_view name, const Value& self) {
    if (name == "index") return Value::integer(index0_ + 1);
    if (name == "index0") return Value::integer(index0_);
    if (name == "first") return Value::boolean(index0_ == 0);
    if (name == "last") return Value::boolean(!peek());
    if (name == "length") return Value::integer(length());
    if (name == "revindex") return Value::integer(length() - index0_);
    if (name == "revindex0") return Value::integer(length() - index0_ - 1);
    if (name == "depth") return Value::integer(depth0_ + 1);
    if (name == "depth0") return Value::integer(depth0_);
    if (name == "previtem") return index0_ == 0 ? undefined_hint("there is no previous item") : before_;
    if (name == "nextitem") return peek() ? *after_ : undefined_hint("there is no next item");
    if (name == "cycle") {
        return make_callable(Callable::Kind::Method, "cycle", [self](Interpreter&, const Arguments& a) {
            if (!a.keyword.empty())
                raise_type_error(
                    fmt::format("LoopContext.cycle() got an unexpected keyword argument '{}'", a.keyword[0].first));
            if (a.positional.empty()) raise_type_error("no items for cycling given");
            return a.positional[size_t(self.as_loop().index0_) % a.positional.size()];
        });
    }
    if (name == "changed") {
        return make_callable(Callable::Kind::Method, "changed", [self](Interpreter&, const Arguments& a) {
            if (!a.keyword.empty())
                raise_type_error(
                    fmt::format("LoopContext.changed() got an unexpected keyword argument '{}'", a.keyword[0].first));
            Loop& loop = self.as_loop();
            Value value = Value::tuple(a.positional);
            if (loop.last_changed_ && equal(*loop.last_changed_, value)) return Value::boolean(false);
            loop.last_changed_ = std::move(value);
            return Value::boolean(true);
        });
    }
    if (name == "__class__" || name == "_length" || name == "_iterator") return Value::none();  // there, and unsafe
    return std::nullopt;
}

Value Loop::call(Interpreter&, const Arguments& arguments) {
    const std::vector<Value> given = bind("LoopContext.__call__", {"self"}, {{"iterable", {}}}, arguments);
    if (!recurse_) raise_type_error("The loop must have the 'recursive' marker to be called recursively.");
    return recurse_(given[0], depth0_ + 1);
}

std::string Loop::repr() { return fmt::format("<LoopContext {}/{}>", index0_ + 1, length()); }

}  // namespace minfer::chat::jinja
