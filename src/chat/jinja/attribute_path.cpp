#include "chat/jinja/attribute_path.h"

#include <algorithm>

#include "chat/jinja/interpreter.h"
#include "chat/jinja/unicode.h"

namespace minfer::chat::jinja {

AttributePath::AttributePath(const Value& attribute) {
    if (attribute.is_none()) return;
    if (!attribute.is_str()) {
        parts_.push_back(attribute);
        return;
    }
    const std::string& text = attribute.text();
    for (size_t from = 0; from <= text.size();) {
        const size_t dot = std::min(text.find('.', from), text.size());
        const std::string part = text.substr(from, dot - from);
        const bool is_index = !part.empty() && part.size() <= 18 &&
                              std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
        parts_.push_back(is_index ? Value::integer(std::stoll(part)) : Value::string(part));
        from = dot + 1;
    }
}

Value AttributePath::of(Interpreter& interpreter, Value item, const Value& otherwise) const {
    for (const Value& part : parts_) {
        item = interpreter.get_item(item, part);
        if (item.is_undefined() && !otherwise.is_none()) item = otherwise;
    }
    return item;
}

Value fold_case(const Value& value, bool case_sensitive) {
    return value.is_str() && !case_sensitive ? Value::string(unicode::lower(value.text()), value.is_markup()) : value;
}

}  // namespace minfer::chat::jinja
