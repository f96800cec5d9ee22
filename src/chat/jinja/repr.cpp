// str() and repr() of the values.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>

#include "base/utf8.h"
#include "chat/jinja/error.h"
#include "chat/jinja/loop.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/unicode.h"
#include "chat/jinja/value.h"

namespace minfer::chat::jinja {
namespace {

// Cycles are possible through namespaces only; Python prints those as <Namespace ...> without end as well, and fails.
constexpr int kMaxDepth = 200;

void append_repr(std::string& out, const Value& value, int depth);

void append_items(std::string& out, const std::vector<Value>& items, int depth) {
    for (size_t i = 0; i < items.size(); ++i) {
        if (i) out += ", ";
        append_repr(out, items[i], depth);
    }
}

void append_entries(std::string& out, const Dict& dict, int depth) {
    out += '{';
    for (size_t i = 0; i < dict.entries.size(); ++i) {
        if (i) out += ", ";
        append_repr(out, dict.entries[i].first, depth);
        out += ": ";
        append_repr(out, dict.entries[i].second, depth);
    }
    out += '}';
}

std::string repr_callable(const Callable& callable) {
    const auto address = fmt::format("0x{:x}", reinterpret_cast<uintptr_t>(&callable));
    switch (callable.kind) {
        case Callable::Kind::Function:
            return fmt::format("<function {} at {}>", callable.name, address);
        case Callable::Kind::Builtin:
            return fmt::format("<built-in method {} of {} object at {}>", callable.name, callable.owner, address);
        case Callable::Kind::Method:
            return fmt::format("<bound method {} of object at {}>", callable.name, address);
        case Callable::Kind::Class:
            return callable.name == "dict" ? "<class 'dict'>"
                                           : fmt::format("<class 'jinja2.utils.{}{}'>", char(callable.name[0] - 32),
                                                         callable.name.substr(1));
        case Callable::Kind::Macro:
            return callable.name.empty() ? "<Macro anonymous>" : fmt::format("<Macro {}>", repr_text(callable.name));
        case Callable::Kind::Joiner:
            return fmt::format("<jinja2.utils.Joiner object at {}>", address);
        case Callable::Kind::BlockReference:
            return fmt::format("<jinja2.runtime.BlockReference object at {}>", address);
    }
    return {};
}

void append_repr(std::string& out, const Value& value, int depth) {
    if (depth > kMaxDepth)
        raise("RecursionError", "maximum recursion depth exceeded while getting the repr of an object");
    if (out.size() > kMaxBytes) fail_too_large("text");
    ++depth;
    switch (value.type()) {
        case Type::Undefined:
            out += "Undefined";
            return;
        case Type::None:
            out += "None";
            return;
        case Type::Bool:
            out += value.as_bool() ? "True" : "False";
            return;
        case Type::Int:
            fmt::format_to(std::back_inserter(out), "{}", value.as_int());
            return;
        case Type::Float:
            out += repr_real(value.as_real());
            return;
        case Type::Str:
            out += value.is_markup() ? "Markup(" + repr_text(value.text()) + ")" : repr_text(value.text());
            return;
        case Type::List:
            out += '[';
            append_items(out, value.items(), depth);
            out += ']';
            return;
        case Type::Tuple:
            out += '(';
            append_items(out, value.items(), depth);
            out += value.items().size() == 1 ? ",)" : ")";
            return;
        case Type::Dict:
            append_entries(out, value.as_dict(), depth);
            return;
        case Type::View: {
            const View& view = value.as_view();
            out += type_name(value);
            out += "([";
            for (size_t i = 0; i < view.of().entries.size(); ++i) {
                if (i) out += ", ";
                append_repr(out, view.at(i), depth);
            }
            out += "])";
            return;
        }
        case Type::Range: {
            const Range& r = value.as_range();
            out += r.step == 1 ? fmt::format("range({}, {})", r.start, r.stop)
                               : fmt::format("range({}, {}, {})", r.start, r.stop, r.step);
            return;
        }
        case Type::Namespace:
            out += "<Namespace ";
            append_entries(out, value.as_namespace().attributes, depth);
            out += '>';
            return;
        case Type::Loop:
            out += value.as_loop().repr();
            return;
        case Type::Callable:
            out += repr_callable(value.as_callable());
            return;
        case Type::Iterator:
            fmt::format_to(std::back_inserter(out), "<{} object{}{} at 0x{:x}>", type_name(value),
                           value.as_iterator().function_name().empty() ? "" : " ", value.as_iterator().function_name(),
                           reinterpret_cast<uintptr_t>(value.object().get()));
            return;
        case Type::Cycler:
            fmt::format_to(std::back_inserter(out), "<jinja2.utils.Cycler object at 0x{:x}>",
                           reinterpret_cast<uintptr_t>(value.object().get()));
            return;
        case Type::TemplateReference:
            out += "<TemplateReference None>";
            return;
    }
}

}  // namespace

std::string repr(const Value& value) {
    std::string out;
    append_repr(out, value, 0);
    return out;
}

std::string str(const Value& value) {
    if (value.is_str()) return value.text();
    if (value.is_undefined()) return {};
    return repr(value);
}

std::string repr_text(std::string_view text) {
    const bool double_quoted = text.find('\'') != text.npos && text.find('"') == text.npos;
    const char quote = double_quoted ? '"' : '\'';
    std::string out(1, quote);
    for (size_t i = 0; i < text.size();) {
        const char32_t c = unicode::decode(text, i);
        if (c == char32_t(quote) || c == '\\') {
            out += '\\';
            out += char(c);
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\r') {
            out += "\\r";
        } else if (c == '\t') {
            out += "\\t";
        } else if (unicode::is_printable(c)) {
            append_utf8(out, c);
        } else if (c < 0x100) {
            out += fmt::format("\\x{:02x}", uint32_t(c));
        } else if (c < 0x10000) {
            out += fmt::format("\\u{:04x}", uint32_t(c));
        } else {
            out += fmt::format("\\U{:08x}", uint32_t(c));
        }
    }
    out += quote;
    return out;
}

std::string repr_real(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
    std::string text(buffer, end);  // [-]d.ddde[+-]dd
    const size_t e = text.find('e');
    const int exponent = std::stoi(text.substr(e + 1));
    if (exponent < -4 || exponent >= 16) return text;
    const std::string sign = text[0] == '-' ? "-" : "";
    std::string digits;
    for (const char c : text.substr(0, e))
        if (c >= '0' && c <= '9') digits += c;
    if (exponent < 0) return sign + "0." + std::string(size_t(-exponent - 1), '0') + digits;
    const size_t whole = size_t(exponent) + 1;
    if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
    return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string ascii(const Value& value) {
    std::string out;
    const std::string text = repr(value);
    for (size_t i = 0; i < text.size();) {
        const char32_t c = unicode::decode(text, i);
        if (c < 0x80)
            out += char(c);
        else if (c < 0x100)
            out += fmt::format("\\x{:02x}", uint32_t(c));
        else if (c < 0x10000)
            out += fmt::format("\\u{:04x}", uint32_t(c));
        else
            out += fmt::format("\\U{:08x}", uint32_t(c));
    }
    return out;
}

}  // namespace minfer::chat::jinja
