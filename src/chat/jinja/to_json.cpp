#include "chat/jinja/to_json.h"

#include <fmt/format.h>

#include <cmath>

#include "chat/jinja/error.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/unicode.h"

namespace minfer::chat::jinja {
namespace {

std::string real_text(double d) {
    if (std::isnan(d)) return "NaN";
    if (std::isinf(d)) return d < 0 ? "-Infinity" : "Infinity";
    return repr_real(d);
}

class Writer {
  public:
    explicit Writer(const JsonStyle& style) : style_(style) {}

    void write(const Value& v, int depth) {
        if (out_.size() > kMaxBytes) fail_too_large("text");
        switch (v.type()) {
            case Type::None:
                out_ += "null";
                return;
            case Type::Bool:
                out_ += v.as_bool() ? "true" : "false";
                return;
            case Type::Int:
                out_ += fmt::format("{}", v.as_int());
                return;
            case Type::Float:
                out_ += real_text(v.as_real());
                return;
            case Type::Str:
                out_ += json_text(v.text(), style_.ensure_ascii);
                return;
            case Type::List:
            case Type::Tuple:
                write_list(v.items(), depth + 1);
                return;
            case Type::Dict:
                write_dict(v.as_dict(), depth + 1);
                return;
            default:
                raise_type_error(fmt::format("Object of type {} is not JSON serializable", type_name(v)));
        }
    }

    std::string take() { return std::move(out_); }

  private:
    void line(int depth) {
        if (!style_.indents) return;
        out_ += '\n';
        for (int i = 0; i < depth; ++i) out_ += style_.indent;
    }

    void write_list(const std::vector<Value>& items, int depth) {
        if (items.empty()) {
            out_ += "[]";
            return;
        }
        out_ += '[';
        for (size_t i = 0; i < items.size(); ++i) {
            if (i) out_ += style_.item_separator;
            line(depth);
            write(items[i], depth);
        }
        line(depth - 1);
        out_ += ']';
    }

    static std::string key_text(const Value& key) {
        switch (key.type()) {
            case Type::Str:
                return key.text();
            case Type::Float:
                return real_text(key.as_real());
            case Type::Bool:
                return key.as_bool() ? "true" : "false";
            case Type::None:
                return "null";
            case Type::Int:
                return fmt::format("{}", key.as_int());
            default:
                raise_type_error(fmt::format("keys must be str, int, float, bool or None, not {}", type_name(key)));
        }
    }

    void write_dict(const Dict& dict, int depth) {
        if (dict.entries.empty()) {
            out_ += "{}";
            return;
        }
        std::vector<std::pair<Value, Value>> entries;
        if (style_.sort_keys) {  // by key and value, as Python sorts pairs; keys are never equal
            for (const auto& [key, value] : dict.entries) entries.emplace_back(key, Value::tuple({key, value}));
            sort_by(entries, false);
            for (auto& entry : entries) {
                const Value pair = entry.second;
                entry = {pair.items()[0], pair.items()[1]};
            }
        } else {
            entries = dict.entries;
        }
        out_ += '{';
        for (size_t i = 0; i < entries.size(); ++i) {
            if (i) out_ += style_.item_separator;
            line(depth);
            out_ += json_text(key_text(entries[i].first), style_.ensure_ascii);
            out_ += style_.key_separator;
            write(entries[i].second, depth);
        }
        line(depth - 1);
        out_ += '}';
    }

    const JsonStyle& style_;
    std::string out_;
};

}  // namespace

std::string json_text(std::string_view text, bool ensure_ascii) {
    std::string out = "\"";
    for (size_t i = 0; i < text.size();) {
        const size_t from = i;
        const char32_t c = unicode::decode(text, i);
        switch (c) {
            case '"':
                out += "\\\"";
                break;
            case '\\':
                out += "\\\\";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\r':
                out += "\\r";
                break;
            case '\t':
                out += "\\t";
                break;
            case '\f':
                out += "\\f";
                break;
            case '\b':
                out += "\\b";
                break;
            default:
                if (c < 0x20 || (ensure_ascii && c >= 0x7f && c < 0x10000 && c != 0x7f)) {
                    out += fmt::format("\\u{:04x}", uint32_t(c));
                } else if (ensure_ascii && c >= 0x10000) {
                    const uint32_t rest = uint32_t(c) - 0x10000;
                    out += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
                } else {
                    out += text.substr(from, i - from);
                }
        }
    }
    out += '"';
    return out;
}

std::string to_json(const Value& value, const JsonStyle& style) {
    Writer writer(style);
    writer.write(value, 0);
    return writer.take();
}

}  // namespace minfer::chat::jinja
