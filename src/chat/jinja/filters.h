// The filters of Jinja2 3.1.6, with HuggingFace's tojson.
#pragma once

#include <string_view>

#include "chat/jinja/value.h"

namespace minfer::chat::jinja {

using FilterFunction = Value (*)(Interpreter& interpreter, const Value& input, const Arguments& arguments);

// Null where there is none of that name.
FilterFunction find_filter(std::string_view name);

// What each file of filters adds to the table.
struct NamedFilter {
    std::string_view name;
    FilterFunction filter;
};
extern const std::vector<NamedFilter> kTextFilters, kSequenceFilters, kSelectionFilters, kNumberFilters, kHtmlFilters,
    kOutputFilters;

}  // namespace minfer::chat::jinja
