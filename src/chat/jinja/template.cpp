#include "chat/jinja/template.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "chat/jinja/error.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/parser.h"
#include "chat/jinja/scopes.h"
#include "chat/jinja/unicode.h"

namespace minfer::chat::jinja {

namespace {

// `depth` counts the lists and objects around it. Object::hold() bounds it too, but only once the innermost is reached.
Value from_json(const nlohmann::ordered_json& json, uint32_t depth) {
    if (depth > kMaxValueDepth) fail_too_deep();
    using Kind = nlohmann::ordered_json::value_t;
    switch (json.type()) {
        case Kind::boolean:
            return Value::boolean(json.get<bool>());
        case Kind::number_integer:
            return Value::integer(json.get<int64_t>());
        case Kind::number_unsigned: {
            const auto n = json.get<uint64_t>();
            if (n > uint64_t(INT64_MAX))
                raise("OverflowError", "a variable holds " + std::to_string(n) + ", which does not fit 64 bits");
            return Value::integer(int64_t(n));
        }
        case Kind::number_float:
            return Value::real(json.get<double>());
        case Kind::string:
            return Value::string(json.get_ref<const std::string&>());
        case Kind::array: {
            std::vector<Value> items;
            items.reserve(json.size());
            for (const auto& each : json) items.push_back(from_json(each, depth + 1));
            return Value::list(std::move(items));
        }
        case Kind::object: {
            const auto dict = std::make_shared<Dict>();
            for (const auto& [key, value] : json.items()) dict->set(key, from_json(value, depth + 1));
            return make_dict(dict);
        }
        default:
            return Value::none();
    }
}

}  // namespace

Template::Template(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

Template Template::parse(std::string_view source) {
    return Template(std::make_shared<const Program>(resolve_scopes(Parser(source).parse())));
}

std::string Template::render(const nlohmann::ordered_json& variables, const RenderOptions& options) const {
    Dict context = make_globals();
    for (const auto& [key, value] : variables.items()) context.set(key, from_json(value, 0));
    return Interpreter(*program_, std::move(context), options).run();
}

}  // namespace minfer::chat::jinja
