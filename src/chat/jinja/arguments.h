// A call's arguments to the parameters of a function, with the TypeErrors that Python raises.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/jinja/value.h"

namespace minfer::chat::jinja {

struct Param {
    std::string_view name;
    std::optional<Value> otherwise;  // the default; a parameter without must be given
};

// One value for each of `params`. `before` names the parameters that are filled already (a filter's input, and what
// Jinja2 passes ahead of it): Python counts them in its messages.
std::vector<Value> bind(std::string_view function, const std::vector<std::string_view>& before,
                        const std::vector<Param>& params, const Arguments& arguments);

// For functions that CPython writes in C. `method` is "str.join".
void expect_none(std::string_view method, const Arguments& arguments);
const Value& expect_one(std::string_view method, const Arguments& arguments);
void expect_between(std::string_view method, size_t least, size_t most, const Arguments& arguments);
void forbid_keywords(std::string_view method, const Arguments& arguments);

}  // namespace minfer::chat::jinja
