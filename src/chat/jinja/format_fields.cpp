// str.format and str.format_map.
#include <fmt/format.h>

#include <functional>
#include <optional>

#include "chat/jinja/error.h"
#include "chat/jinja/format.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/unicode.h"

namespace minfer::chat::jinja {
namespace {

class FieldFormatter {
  public:
    using Lookup = std::function<Value(const std::string& key, std::optional<int64_t> index)>;

    FieldFormatter(Interpreter& interpreter, Lookup lookup) : interpreter_(interpreter), lookup_(std::move(lookup)) {}

    std::string run(std::string_view format, int depth) {
        if (depth < 0) raise_value_error("Max string recursion exceeded");
        std::string out;
        size_t i = 0;
        while (i < format.size()) {
            const char c = format[i++];
            if (c != '{' && c != '}') {
                out += c;
                continue;
            }
            if (i < format.size() && format[i] == c) {
                out += c;
                ++i;
                continue;
            }
            if (c == '}') raise_value_error("Single '}' encountered in format string");
            if (i >= format.size()) raise_value_error("Single '{' encountered in format string");
            out += field(format, i, depth);
            if (out.size() > kMaxBytes) fail_too_large("text");
        }
        return out;
    }

  private:
    // After '{': up to and including the '}' that closes it.
    std::string field(std::string_view format, size_t& i, int depth) {
        const size_t from = i;
        int nested = 1, brackets = 0;
        size_t end = i;
        for (; end < format.size(); ++end) {
            const char c = format[end];
            if (c == '[' && nested == 1) brackets = 1;
            if (c == ']') brackets = 0;
            if (brackets) continue;
            if (c == '{') ++nested;
            if (c == '}' && --nested == 0) break;
        }
        if (end >= format.size()) raise_value_error("expected '}' before end of string");
        const std::string_view all = format.substr(from, end - from);
        i = end + 1;
        size_t name_end = 0;
        bool in_brackets = false;
        while (name_end < all.size() && (in_brackets || (all[name_end] != '!' && all[name_end] != ':'))) {
            if (all[name_end] == '{' && !in_brackets) raise_value_error("unexpected '{' in field name");
            if (all[name_end] == '[') in_brackets = true;
            if (all[name_end] == ']') in_brackets = false;
            ++name_end;
        }
        std::optional<char32_t> conversion;
        std::string_view spec;
        size_t after = name_end;
        if (after < all.size() && all[after] == '!') {
            size_t at = after + 1;
            if (at >= all.size()) raise_value_error("end of string while looking for conversion specifier");
            conversion = unicode::decode(all, at);
            if (at < all.size() && all[at] != ':') raise_value_error("expected ':' after conversion specifier");
            after = at;
        }
        if (after < all.size()) spec = all.substr(after + 1);
        Value value = resolve(all.substr(0, name_end));
        if (conversion) {
            switch (*conversion) {
                case 's':
                    value = Value::string(str(value));
                    break;
                case 'r':
                    value = Value::string(repr(value));
                    break;
                case 'a':
                    value = Value::string(ascii(value));
                    break;
                default:
                    raise_value_error(fmt::format("Unknown conversion specifier {}", unicode::encode(*conversion)));
            }
        }
        return format_value(value, run(spec, depth - 1));
    }

    static std::optional<int64_t> as_index(std::string_view text) {
        if (text.empty() || text.size() > 18) return std::nullopt;
        int64_t n = 0;
        for (const char c : text) {
            if (c < '0' || c > '9') return std::nullopt;
            n = n * 10 + (c - '0');
        }
        return n;
    }

    Value resolve(std::string_view name) {
        size_t i = name.find_first_of(".[");
        if (i == name.npos) i = name.size();
        const std::string first(name.substr(0, i));
        std::optional<int64_t> index = as_index(first);
        if (first.empty()) {
            if (manual_) {
                raise_value_error("cannot switch from manual field specification to automatic field numbering");
            }
            index = next_++;
            automatic_ = true;
        } else if (index) {
            if (automatic_)
                raise_value_error("cannot switch from manual field specification to automatic field numbering");
            manual_ = true;
        }
        Value value = lookup_(first, index);
        while (i < name.size()) {
            if (name[i] == '.') {
                size_t end = name.find_first_of(".[", i + 1);
                if (end == name.npos) end = name.size();
                if (end == i + 1) raise_value_error("Empty attribute in format string");
                value = interpreter_.get_attribute(value, std::string(name.substr(i + 1, end - i - 1)));
                i = end;
            } else if (name[i] == '[') {
                const size_t end = name.find(']', i);
                if (end == name.npos) raise_value_error("Missing ']' in format string");
                const std::string_view key = name.substr(i + 1, end - i - 1);
                if (key.empty()) raise_value_error("Empty attribute in format string");
                const std::optional<int64_t> number = as_index(key);
                value =
                    interpreter_.get_item(value, number ? Value::integer(*number) : Value::string(std::string(key)));
                i = end + 1;
            } else {
                raise_value_error("Only '.' or '[' may follow ']' in format field specifier");
            }
        }
        return value;
    }

    Interpreter& interpreter_;
    Lookup lookup_;
    int64_t next_ = 0;
    bool automatic_ = false, manual_ = false;
};

}  // namespace

std::string format_fields(Interpreter& interpreter, std::string_view format, const Arguments& arguments) {
    const auto lookup = [&](const std::string& key, std::optional<int64_t> index) -> Value {
        if (index) {
            if (size_t(*index) >= arguments.positional.size())
                raise("IndexError", fmt::format("Replacement index {} out of range for positional args tuple", *index));
            return arguments.positional[size_t(*index)];
        }
        for (const auto& [name, value] : arguments.keyword)
            if (name == key) return value;
        raise("KeyError", repr_text(key));
    };
    return FieldFormatter(interpreter, lookup).run(format, 2);
}

std::string format_fields(Interpreter& interpreter, std::string_view format, const Value& mapping) {
    const auto lookup = [&](const std::string& key, std::optional<int64_t> index) -> Value {
        if (index)
            raise("IndexError", fmt::format("Replacement index {} out of range for positional args tuple", *index));
        if (mapping.is_undefined()) fail_undefined(mapping);
        if (!mapping.is(Type::Dict))
            raise_type_error(fmt::format("'{}' object is not subscriptable", type_name(mapping)));
        if (const Value* found = mapping.as_dict().find(key)) return *found;
        raise("KeyError", repr_text(key));
    };
    return FieldFormatter(interpreter, lookup).run(format, 2);
}

}  // namespace minfer::chat::jinja
