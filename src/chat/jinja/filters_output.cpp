// Filters that show a value: tojson, as HuggingFace's tokenizers define it, and pprint.
#include <fmt/format.h>

#include "chat/jinja/arguments.h"
#include "chat/jinja/error.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/pretty.h"
#include "chat/jinja/to_json.h"

namespace minfer::chat::jinja {
namespace {

Value tojson(Interpreter&, const Value& v, const Arguments& a) {
    const auto given = bind("tojson", {"x"},
                            {{"ensure_ascii", Value::boolean(false)},
                             {"indent", Value::none()},
                             {"separators", Value::none()},
                             {"sort_keys", Value::boolean(false)}},
                            a);
    JsonStyle style;
    style.ensure_ascii = truth(given[0]);
    style.sort_keys = truth(given[3]);
    style.indents = !given[1].is_none() && !v.is_str();  // json.dumps does not look at it for a str
    if (style.indents) {
        style.item_separator.assign(1, ',');
        style.indent = given[1].is_str() ? given[1].text() : binary(Op::Mul, Value::string(" "), given[1]).text();
    }
    if (!given[2].is_none()) {
        const std::vector<Value> parts = to_vector(given[2]);
        if (parts.size() > 2) raise_value_error("too many values to unpack (expected 2)");
        if (parts.size() < 2)
            raise_value_error(fmt::format("not enough values to unpack (expected 2, got {})", parts.size()));
        if (!parts[0].is_str() || !parts[1].is_str()) raise_type_error("separators must be strings");
        style.item_separator = parts[0].text();
        style.key_separator = parts[1].text();
    }
    return Value::string(to_json(v, style));
}

Value pprint(Interpreter&, const Value& v, const Arguments& a) {
    bind("do_pprint", {"value"}, {}, a);
    return Value::string(pretty(v));
}

}  // namespace

const std::vector<NamedFilter> kOutputFilters = {{"tojson", tojson}, {"pprint", pprint}};

}  // namespace minfer::chat::jinja
