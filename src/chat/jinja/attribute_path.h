// The `attribute` argument of filters: "address.city", 0, or several paths parted by commas.
#pragma once

#include <optional>
#include <vector>

#include "chat/jinja/value.h"

namespace minfer::chat::jinja {

class AttributePath {
  public:
    // None is the item itself. Parts that are digits are indices.
    explicit AttributePath(const Value& attribute);
    // `otherwise`, unless it is None, replaces what is undefined on the way.
    Value of(Interpreter& interpreter, Value item, const Value& otherwise = Value::none()) const;

  private:
    std::vector<Value> parts_;
};

// A value to compare by: a str in lower case, where case does not count.
Value fold_case(const Value& value, bool case_sensitive);

}  // namespace minfer::chat::jinja
