// Methods of str that split, strip, pad, search and replace.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "chat/jinja/arguments.h"
#include "chat/jinja/error.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/methods.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/search.h"
#include "chat/jinja/unicode.h"

namespace minfer::chat::jinja {
namespace {

// An argument that must be a str: "replace() argument 1 must be str, not int".
const std::string& text_argument(std::string_view method, const Arguments& a, size_t i) {
    const Value& value = a.positional[i];
    if (!value.is_str())
        raise_type_error(fmt::format("{}() argument {} must be str, not {}", method, i + 1, type_name(value)));
    return value.text();
}

Value strings(const std::vector<std::string>& parts, bool markup, bool as_tuple = false) {
    std::vector<Value> out;
    out.reserve(parts.size());
    for (const std::string& each : parts) out.push_back(Value::string(each, markup));
    return as_tuple ? Value::tuple(std::move(out)) : Value::list(std::move(out));
}

// Without the letters at its ends that `goes` says yes to.
template <class Goes>
std::string_view stripped(std::string_view text, const Goes& goes, bool left, bool right) {
    while (left && !text.empty()) {
        size_t next = 0;
        if (!goes(unicode::decode(text, next))) break;
        text.remove_prefix(next);
    }
    while (right && !text.empty()) {
        size_t last = text.size() - 1;
        while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xc0) == 0x80) --last;
        size_t next = last;
        if (!goes(unicode::decode(text, next))) break;
        text = text.substr(0, last);
    }
    return text;
}

void add_part(std::vector<std::string>& parts, std::string_view part) {
    if (parts.size() >= kMaxItems) fail_too_large("list");
    parts.emplace_back(part);
}

std::vector<std::string> split_at(std::string_view text, std::string_view separator, int64_t most) {
    std::vector<std::string> out;
    const Searcher searcher(separator);
    size_t from = 0;
    while (most-- != 0) {
        const size_t at = searcher.find(text, from);
        if (at == text.npos) break;
        add_part(out, text.substr(from, at - from));
        from = at + separator.size();
    }
    add_part(out, text.substr(from));
    return out;
}

std::vector<std::string> split_at_from_right(std::string_view text, std::string_view separator, int64_t most) {
    std::vector<std::string> out;
    const Searcher searcher(separator, Searcher::From::Right);
    while (most-- != 0) {
        const size_t at = searcher.find(text);
        if (at == text.npos) break;
        add_part(out, text.substr(at + separator.size()));
        text = text.substr(0, at);
    }
    add_part(out, text);
    std::ranges::reverse(out);
    return out;
}

std::string_view without_space_behind(std::string_view text) { return stripped(text, unicode::is_space, false, true); }

std::vector<std::string> split_space(std::string_view text, int64_t most) {
    std::vector<std::string> out;
    size_t i = 0;
    const auto skip = [&](bool space) {
        while (i < text.size()) {
            size_t next = i;
            if (unicode::is_space(unicode::decode(text, next)) != space) break;
            i = next;
        }
    };
    while (true) {
        skip(true);
        if (i >= text.size()) return out;
        if (most-- == 0) {
            add_part(out, text.substr(i));
            return out;
        }
        const size_t from = i;
        skip(false);
        add_part(out, text.substr(from, i - from));
    }
}

std::vector<std::string> split_space_from_right(std::string_view text, int64_t most) {
    std::vector<std::string> words = split_space(text, -1);
    if (most < 0 || int64_t(words.size()) <= most) return words;
    // The words that stay together keep the space between them.
    std::vector<std::string> out;
    std::string_view rest = without_space_behind(text);
    for (int64_t i = 0; i < most; ++i) {
        const std::string& word = words[words.size() - 1 - size_t(i)];
        rest = without_space_behind(rest.substr(0, rest.size() - word.size()));
        out.push_back(word);
    }
    out.emplace_back(rest);
    std::ranges::reverse(out);
    return out;
}

// "split() takes at most 2 arguments (3 given)"
void at_most(const char* name, size_t most, const Arguments& a) {
    const size_t given = a.positional.size() + a.keyword.size();
    if (given <= most) return;
    raise_type_error(fmt::format("{}() takes at most {} {}argument{} ({} given)", name, most,
                                 a.positional.empty() ? "keyword " : "", most == 1 ? "" : "s", given));
}

Value split_by(const char* name, const Value& self, const Arguments& a, bool from_right) {
    Value separator = Value::none(), most = Value::integer(-1);
    const size_t n = a.positional.size();
    at_most(name, 2, a);
    if (n > 0) separator = a.positional[0];
    if (n > 1) most = a.positional[1];
    for (const auto& [key, value] : a.keyword) {
        if (key != "sep" && key != "maxsplit")
            raise_type_error(fmt::format("'{}' is an invalid keyword argument for {}()", key, name));
        if (n > (key == "sep" ? 0u : 1u)) {
            raise_type_error(fmt::format("argument for {}() given by name ('{}') and position ({})", name, key,
                                         key == "sep" ? 1 : 2));
        }
        (key == "sep" ? separator : most) = value;
    }
    const int64_t limit = to_index(most);
    const bool markup = self.is_markup();
    if (separator.is_none()) {
        return strings(from_right ? split_space_from_right(self.text(), limit) : split_space(self.text(), limit),
                       markup);
    }
    if (!separator.is_str()) raise_type_error(fmt::format("must be str or None, not {}", type_name(separator)));
    if (separator.text().empty()) raise_value_error("empty separator");
    return strings(from_right ? split_at_from_right(self.text(), separator.text(), limit)
                              : split_at(self.text(), separator.text(), limit),
                   markup);
}

Value split_lines_method(Interpreter&, const Value& self, const Arguments& a) {
    at_most("splitlines", 1, a);
    Value keep = a.positional.empty() ? Value::boolean(false) : a.positional[0];
    for (const auto& [key, value] : a.keyword) {
        if (key != "keepends")
            raise_type_error(fmt::format("'{}' is an invalid keyword argument for splitlines()", key));
        keep = value;
    }
    return strings(split_lines(self.text(), to_index(keep) != 0), self.is_markup());
}

Value strip_by(const char* name, const Value& self, const Arguments& a, bool left, bool right) {
    expect_between(std::string("str.") + name, 0, 1, a);
    const Value chars = a.positional.empty() ? Value::none() : a.positional[0];
    if (!chars.is_none() && !chars.is_str()) raise_type_error(fmt::format("{} arg must be None or str", name));
    return Value::string(strip(self.text(), chars, left, right), self.is_markup());
}

std::string fill_of(const Arguments& a) {
    if (a.positional.size() < 2) return " ";
    const Value& fill = a.positional[1];
    if (!fill.is_str())
        raise_type_error(fmt::format("The fill character must be a unicode character, not {}", type_name(fill)));
    if (fill.as_str().length != 1) raise_type_error("The fill character must be exactly one character long");
    return fill.text();
}

std::string repeated(const std::string& text, int64_t count) {
    if (count > int64_t(kMaxBytes / 4)) fail_too_large("text");
    std::string out;
    for (int64_t i = 0; i < count; ++i) out += text;
    return out;
}

// The letters that a text lacks to be of a width.
int64_t lacking(const Value& text, int64_t width) {
    return std::max(width, int64_t(text.as_str().length)) - int64_t(text.as_str().length);
}

Value pad_by(const char* name, const Value& self, const Arguments& a, bool on_left) {
    expect_between(name, 1, 2, a);
    const std::string padding = repeated(fill_of(a), lacking(self, to_index(a.positional[0])));
    return Value::string(on_left ? padding + self.text() : self.text() + padding, self.is_markup());
}

Value zfill(Interpreter&, const Value& self, const Arguments& a) {
    const int64_t space = lacking(self, to_index(expect_one("str.zfill", a)));
    const std::string& text = self.text();
    const size_t sign = !text.empty() && (text[0] == '+' || text[0] == '-') ? 1 : 0;
    return Value::string(text.substr(0, sign) + repeated("0", space) + text.substr(sign), self.is_markup());
}

// The part of `self` that optional start and end arguments, from argument `first` on, choose; in code points.
struct Part {
    std::string text;
    int64_t start, length;
    bool is_empty_beyond;  // starts after the end: not even the empty string is found
};

Part part_of(const Value& self, const Arguments& a, size_t first) {
    const auto bound = [&](size_t i) {
        Value value = a.positional.size() > i ? a.positional[i] : Value::none();
        if (!value.is_none() && !value.is_int())
            raise_type_error("slice indices must be integers or None or have an __index__ method");
        return value;
    };
    const Value start = bound(first), end = bound(first + 1);
    const int64_t n = int64_t(self.as_str().length);
    const auto adjust = [&](const Value& v, int64_t otherwise, bool clamp) {
        if (v.is_none()) return otherwise;
        int64_t i = v.as_int();
        if (i < 0) i = std::max<int64_t>(i + n, 0);
        return clamp ? std::min(i, n) : i;
    };
    const int64_t from = adjust(start, 0, false), to = adjust(end, n, true);
    if (from > to) return {"", from, 0, true};
    const Value cut = slice(self, Value::integer(from), Value::integer(to), Value::none());
    return {cut.text(), from, to - from, false};
}

void check_search(std::string_view name, const Arguments& a) {
    forbid_keywords(std::string("str.") + std::string(name), a);
    const size_t n = a.positional.size();
    if (n < 1) raise_type_error(fmt::format("{}() takes at least 1 argument ({} given)", name, n));
    if (n > 3) raise_type_error(fmt::format("{}() takes at most 3 arguments ({} given)", name, n));
}

int64_t find_in(const char* name, const Value& self, const Arguments& a, bool from_right) {
    check_search(name, a);
    if (!a.positional[0].is_str()) raise_type_error(fmt::format("must be str, not {}", type_name(a.positional[0])));
    const Part part = part_of(self, a, 1);
    if (part.is_empty_beyond) return -1;
    const std::string& wanted = a.positional[0].text();
    const size_t byte = Searcher(wanted, from_right ? Searcher::From::Right : Searcher::From::Left).find(part.text);
    if (byte == std::string::npos) return -1;
    return part.start + int64_t(unicode::length(std::string_view(part.text).substr(0, byte)));
}

Value index_in(const char* name, const Value& self, const Arguments& a, bool from_right) {
    const int64_t found = find_in(name, self, a, from_right);
    if (found < 0) raise_value_error("substring not found");
    return Value::integer(found);
}

Value count(Interpreter&, const Value& self, const Arguments& a) {
    check_search("count", a);
    if (!a.positional[0].is_str()) raise_type_error(fmt::format("must be str, not {}", type_name(a.positional[0])));
    const Part part = part_of(self, a, 1);
    if (part.is_empty_beyond) return Value::integer(0);
    const std::string& wanted = a.positional[0].text();
    if (wanted.empty()) return Value::integer(part.length + 1);
    const Searcher searcher(wanted);
    int64_t n = 0;
    for (size_t at = searcher.find(part.text); at != std::string::npos;
         at = searcher.find(part.text, at + wanted.size()))
        ++n;
    return Value::integer(n);
}

Value starts_or_ends(const char* name, const Value& self, const Arguments& a, bool ends) {
    check_search(name, a);
    const Part part = part_of(self, a, 1);
    const auto matches = [&](const Value& wanted) {
        if (part.is_empty_beyond) return false;
        return ends ? part.text.ends_with(wanted.text()) : part.text.starts_with(wanted.text());
    };
    const Value& wanted = a.positional[0];
    if (wanted.is_str()) return Value::boolean(matches(wanted));
    if (!wanted.is(Type::Tuple)) {
        raise_type_error(fmt::format("{} first arg must be str or a tuple of str, not {}", name, type_name(wanted)));
    }
    for (const Value& each : wanted.items()) {
        if (!each.is_str())
            raise_type_error(fmt::format("tuple for {} must only contain str, not {}", name, type_name(each)));
        if (matches(each)) return Value::boolean(true);
    }
    return Value::boolean(false);
}

Value replace_method(Interpreter&, const Value& self, const Arguments& a) {
    expect_between("str.replace", 2, 3, a);
    const std::string& from = text_argument("replace", a, 0);
    std::string to = text_argument("replace", a, 1);
    if (self.is_markup()) to = escape(a.positional[1]).text();
    const int64_t most = a.positional.size() > 2 ? to_index(a.positional[2]) : -1;
    return Value::string(replace(self.text(), from, to, most), self.is_markup());
}

Value partition_by(const char* name, const Value& self, const Arguments& a, bool from_right) {
    const Value& separator = expect_one(name, a);
    if (!separator.is_str()) raise_type_error(fmt::format("must be str, not {}", type_name(separator)));
    if (separator.text().empty()) raise_value_error("empty separator");
    const std::string& text = self.text();
    const size_t at = Searcher(separator.text(), from_right ? Searcher::From::Right : Searcher::From::Left).find(text);
    if (at == std::string::npos) {
        return from_right ? strings({"", "", text}, self.is_markup(), true)
                          : strings({text, "", ""}, self.is_markup(), true);
    }
    return strings({text.substr(0, at), separator.text(), text.substr(at + separator.text().size())}, self.is_markup(),
                   true);
}

Value remove_affix(const char* name, const Value& self, const Arguments& a, bool suffix) {
    const Value& affix = expect_one(std::string("str.") + name, a);
    if (!affix.is_str()) raise_type_error(fmt::format("{}() argument must be str, not {}", name, type_name(affix)));
    std::string text = self.text();
    const std::string& cut = affix.text();
    if (suffix && text.ends_with(cut)) text.resize(text.size() - cut.size());
    if (!suffix && text.starts_with(cut)) text.erase(0, cut.size());
    return Value::string(std::move(text), self.is_markup());
}

Value expand_tabs(Interpreter&, const Value& self, const Arguments& a) {
    Value size = Value::integer(8);
    if (!a.positional.empty()) size = a.positional[0];
    for (const auto& [key, value] : a.keyword) {
        if (key != "tabsize")
            raise_type_error(fmt::format("'{}' is an invalid keyword argument for expandtabs()", key));
        size = value;
    }
    const int64_t tab = to_index(size);
    std::string out;
    int64_t column = 0;
    for (const char32_t c : unicode::decode_all(self.text())) {
        if (c == '\t') {
            if (tab > 0) {
                const int64_t space = tab - column % tab;
                out += repeated(" ", space);
                column += space;
            }
        } else {
            append_utf8(out, c);
            column = c == '\n' || c == '\r' ? 0 : column + 1;
        }
        if (out.size() > kMaxBytes) fail_too_large("text");
    }
    return Value::string(std::move(out), self.is_markup());
}

constexpr NamedMethod kMethods[] = {
    {"split", [](Interpreter&, const Value& s, const Arguments& a) { return split_by("split", s, a, false); }},
    {"rsplit", [](Interpreter&, const Value& s, const Arguments& a) { return split_by("rsplit", s, a, true); }},
    {"splitlines", split_lines_method},
    {"strip", [](Interpreter&, const Value& s, const Arguments& a) { return strip_by("strip", s, a, true, true); }},
    {"lstrip", [](Interpreter&, const Value& s, const Arguments& a) { return strip_by("lstrip", s, a, true, false); }},
    {"rstrip", [](Interpreter&, const Value& s, const Arguments& a) { return strip_by("rstrip", s, a, false, true); }},
    {"ljust", [](Interpreter&, const Value& s, const Arguments& a) { return pad_by("str.ljust", s, a, false); }},
    {"rjust", [](Interpreter&, const Value& s, const Arguments& a) { return pad_by("str.rjust", s, a, true); }},
    {"center",
     [](Interpreter&, const Value& s, const Arguments& a) {
         expect_between("str.center", 1, 2, a);
         return Value::string(center(s.as_str(), to_index(a.positional[0]), fill_of(a)), s.is_markup());
     }},
    {"zfill", zfill},
    {"find",
     [](Interpreter&, const Value& s, const Arguments& a) { return Value::integer(find_in("find", s, a, false)); }},
    {"rfind",
     [](Interpreter&, const Value& s, const Arguments& a) { return Value::integer(find_in("rfind", s, a, true)); }},
    {"index", [](Interpreter&, const Value& s, const Arguments& a) { return index_in("index", s, a, false); }},
    {"rindex", [](Interpreter&, const Value& s, const Arguments& a) { return index_in("rindex", s, a, true); }},
    {"count", count},
    {"startswith",
     [](Interpreter&, const Value& s, const Arguments& a) { return starts_or_ends("startswith", s, a, false); }},
    {"endswith",
     [](Interpreter&, const Value& s, const Arguments& a) { return starts_or_ends("endswith", s, a, true); }},
    {"replace", replace_method},
    {"partition",
     [](Interpreter&, const Value& s, const Arguments& a) { return partition_by("str.partition", s, a, false); }},
    {"rpartition",
     [](Interpreter&, const Value& s, const Arguments& a) { return partition_by("str.rpartition", s, a, true); }},
    {"removeprefix",
     [](Interpreter&, const Value& s, const Arguments& a) { return remove_affix("removeprefix", s, a, false); }},
    {"removesuffix",
     [](Interpreter&, const Value& s, const Arguments& a) { return remove_affix("removesuffix", s, a, true); }},
    {"expandtabs", expand_tabs},
};

bool is_line_break(char32_t c) {
    return (c >= 10 && c <= 13) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

}  // namespace

std::vector<std::string> split_lines(std::string_view text, bool keep_ends) {
    std::vector<std::string> out;
    size_t from = 0, i = 0;
    while (i < text.size()) {
        const size_t at = i;
        const char32_t c = unicode::decode(text, i);
        if (!is_line_break(c)) continue;
        if (c == '\r' && i < text.size() && text[i] == '\n') ++i;
        add_part(out, text.substr(from, (keep_ends ? i : at) - from));
        from = i;
    }
    if (from < text.size()) add_part(out, text.substr(from));
    return out;
}

std::vector<std::string> split_words(std::string_view text) { return split_space(text, -1); }

std::string strip(std::string_view text, const Value& chars, bool left, bool right) {
    if (chars.is_none()) return std::string(stripped(text, unicode::is_space, left, right));
    std::vector<char32_t> set = unicode::decode_all(chars.text());
    std::ranges::sort(set);
    return std::string(stripped(text, [&](char32_t c) { return std::ranges::binary_search(set, c); }, left, right));
}

std::string replace(std::string_view text, std::string_view from, std::string_view to, int64_t most) {
    std::string out;
    if (from.empty()) {  // between all letters, and at both ends
        size_t i = 0;
        while (most-- != 0) {
            out += to;
            if (i >= text.size()) return out;
            const size_t at = i;
            unicode::decode(text, i);
            out += text.substr(at, i - at);
            if (out.size() > kMaxBytes) fail_too_large("text");
        }
        return out + std::string(text.substr(i));
    }
    const Searcher searcher(from);
    size_t at = 0;
    while (most-- != 0) {
        const size_t found = searcher.find(text, at);
        if (found == text.npos) break;
        out += text.substr(at, found - at);
        out += to;
        at = found + from.size();
        if (out.size() > kMaxBytes) fail_too_large("text");
    }
    return out + std::string(text.substr(at));
}

std::string center(const Str& text, int64_t width, const std::string& fill) {
    if (width <= int64_t(text.length)) return text.text;
    const int64_t space = width - int64_t(text.length);
    const int64_t left = space / 2 + (space & width & 1);
    return repeated(fill, left) + text.text + repeated(fill, space - left);
}

Method find_split_method(std::string_view name) {
    const auto found = std::ranges::find(kMethods, name, &NamedMethod::name);
    return found == std::end(kMethods) ? nullptr : found->method;
}

}  // namespace minfer::chat::jinja
