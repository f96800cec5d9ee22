// The `loop` variable of a for statement.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "chat/jinja/value.h"

namespace minfer::chat::jinja {

struct Loop : Object {
    // Renders the loop's body over other items, one level deeper; empty where the loop is not `recursive`.
    using Recurse = std::function<Value(const Value& items, int64_t depth)>;

    Loop(Value iterable, Recurse recurse, int64_t level);

    bool advance();  // to the next item, which is then `current`
    int64_t length();
    // The attribute of that name, or nothing. Bound methods hold `self`, which must be this loop.
    std::optional<Value> attribute(std::string_view name, const Value& self);
    Value call(Interpreter& interpreter, const Arguments& arguments);
    std::string repr();

    Value current;

  private:
    bool peek();  // whether another item follows, which is then `after_`

    Value iterable_;
    Value iterator_;
    Recurse recurse_;
    int64_t depth0_;
    int64_t index0_ = -1;
    std::optional<int64_t> length_;
    std::optional<Value> after_;
    Value before_;
    std::optional<Value> last_changed_;
};

}  // namespace minfer::chat::jinja
