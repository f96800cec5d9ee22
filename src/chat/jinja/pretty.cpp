#include "chat/jinja/pretty.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "chat/jinja/error.h"
#include "chat/jinja/methods.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/unicode.h"

namespace minfer::chat::jinja {
namespace {

constexpr int64_t kWidth = 80;

int64_t columns(const std::string& text) { return int64_t(unicode::length(text)); }

// Pairs in the order of their keys; keys that do not compare go by the names of their types.
std::vector<std::pair<Value, Value>> sorted_entries(const Dict& dict) {
    std::vector<std::pair<Value, Value>> entries = dict.entries;
    const auto less = [](const auto& a, const auto& b) {
        try {
            return compare(Op::Lt, a.first, b.first);
        } catch (const TemplateFailure&) {
            return type_name(a.first) < type_name(b.first);
        }
    };
    // Insertion sort: an order that is none must do no harm.
    for (size_t i = 1; i < entries.size(); ++i)
        for (size_t k = i; k > 0 && less(entries[k], entries[k - 1]); --k) std::swap(entries[k], entries[k - 1]);
    return entries;
}

// repr, with dicts sorted.
std::string flat(const Value& v) {
    if (!v.is(Type::Dict) && !v.is_sequence()) return repr(v);
    std::vector<std::string> parts;
    if (v.is(Type::Dict)) {
        for (const auto& [key, value] : sorted_entries(v.as_dict()))
            parts.push_back(fmt::format("{}: {}", flat(key), flat(value)));
        return fmt::format("{{{}}}", fmt::join(parts, ", "));
    }
    for (const Value& each : v.items()) parts.push_back(flat(each));
    const std::string joined = fmt::format("{}", fmt::join(parts, ", "));
    if (v.is(Type::List)) return fmt::format("[{}]", joined);
    return fmt::format("({}{})", joined, parts.size() == 1 ? "," : "");
}

class Printer {
  public:
    void print(const Value& v, int64_t indent, int64_t allowance, int level) {
        const std::string text = flat(v);
        if (out.size() > kMaxBytes) fail_too_large("text");
        if (columns(text) <= kWidth - indent - allowance || v.is_markup()) {
            out += text;
        } else if (v.is(Type::Dict)) {
            out += '{';
            print_dict(v.as_dict(), indent + 1, allowance + 1, level + 1);
            out += '}';
        } else if (v.is_sequence()) {
            const std::string close = v.is(Type::List) ? "]" : v.items().size() == 1 ? ",)" : ")";
            out += v.is(Type::List) ? '[' : '(';
            print_items(v.items(), indent + 1, allowance + columns(close), level + 1);
            out += close;
        } else if (v.is_str()) {
            print_text(v.text(), indent, allowance, level + 1);
        } else {
            out += text;
        }
    }

    std::string out;

  private:
    void new_line(int64_t indent) { out.append(",\n").append(size_t(indent), ' '); }

    void print_items(const std::vector<Value>& items, int64_t indent, int64_t allowance, int level) {
        for (size_t i = 0; i < items.size(); ++i) {
            if (i) new_line(indent);
            print(items[i], indent, i + 1 == items.size() ? allowance : 1, level);
        }
    }

    void print_dict(const Dict& dict, int64_t indent, int64_t allowance, int level) {
        const auto entries = sorted_entries(dict);
        for (size_t i = 0; i < entries.size(); ++i) {
            if (i) new_line(indent);
            const std::string key = flat(entries[i].first);
            out.append(key).append(": ");
            print(entries[i].second, indent + columns(key) + 2, i + 1 == entries.size() ? allowance : 1, level);
        }
    }

    // A word and the white space after it.
    static std::vector<std::string> words(const std::string& line) {
        std::vector<std::string> parts(1);
        bool in_space = false;
        for (const char32_t c : unicode::decode_all(line)) {
            const bool space = unicode::is_space(c);
            if (in_space && !space) parts.emplace_back();
            in_space = space;
            append_utf8(parts.back(), c);
        }
        return parts;
    }

    void print_text(const std::string& text, int64_t indent, int64_t allowance, int level) {
        const std::vector<std::string> lines = split_lines(text, true);
        if (level == 1) {
            ++indent;
            ++allowance;
        }
        const int64_t width = kWidth - indent;
        std::vector<std::string> chunks;
        std::string last;
        for (size_t i = 0; i < lines.size(); ++i) {
            const bool is_last_line = i + 1 == lines.size();
            last = repr_text(lines[i]);
            if (columns(last) <= width - (is_last_line ? allowance : 0)) {
                chunks.push_back(last);
                continue;
            }
            const std::vector<std::string> parts = words(lines[i]);
            std::string current;
            for (size_t k = 0; k < parts.size(); ++k) {
                const bool is_end = is_last_line && k + 1 == parts.size();
                if (columns(repr_text(current + parts[k])) > width - (is_end ? allowance : 0)) {
                    if (!current.empty()) chunks.push_back(repr_text(current));
                    current = parts[k];
                } else {
                    current += parts[k];
                }
            }
            if (!current.empty()) chunks.push_back(repr_text(current));
        }
        if (chunks.size() == 1) {
            out += last;
            return;
        }
        if (level == 1) out += '(';
        for (size_t i = 0; i < chunks.size(); ++i) {
            if (i) out.append("\n").append(size_t(indent), ' ');
            out += chunks[i];
        }
        if (level == 1) out += ')';
    }
};

}  // namespace

std::string pretty(const Value& value) {
    Printer printer;
    printer.print(value, 0, 0, 0);
    return std::move(printer.out);
}

}  // namespace minfer::chat::jinja
