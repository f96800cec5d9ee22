// Methods of str that convert, ask and format.
#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "chat/jinja/arguments.h"
#include "chat/jinja/error.h"
#include "chat/jinja/format.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/methods.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/unicode.h"

namespace minfer::chat::jinja {
namespace {

template <std::string (*convert)(std::string_view)>
Value convert_text(const char* name, const Value& self, const Arguments& a) {
    if (self.is_markup())
        bind(fmt::format("Markup.{}", name), {"self"}, {}, a);
    else
        expect_none(fmt::format("str.{}", name), a);
    return Value::string(convert(self.text()), self.is_markup());
}

template <bool (*test)(char32_t)>
bool all_letters(std::string_view text) {
    const std::vector<char32_t> codes = unicode::decode_all(text);
    return !codes.empty() && std::ranges::all_of(codes, test);
}

template <bool (*test)(std::string_view)>
Value ask(const char* name, const Value& self, const Arguments& a) {
    expect_none(fmt::format("{}.{}", type_name(self), name), a);
    return Value::boolean(test(self.text()));
}

bool is_title_text(std::string_view text) {
    bool cased = false, previous = false;
    for (const char32_t c : unicode::decode_all(text)) {
        const bool upper = unicode::is_upper(c) || unicode::is_title(c);
        if (upper && previous) return false;
        if (!upper && unicode::is_lower(c) && !previous) return false;
        cased |= upper || unicode::is_lower(c);
        previous = upper || unicode::is_lower(c);
    }
    return cased;
}

bool is_identifier_text(std::string_view text) {
    const std::vector<char32_t> codes = unicode::decode_all(text);
    return !codes.empty() && unicode::is_identifier_start(codes[0]) &&
           std::ranges::all_of(codes, unicode::is_identifier_part);
}

bool is_ascii_text(std::string_view text) { return unicode::is_ascii(text); }

bool is_printable_text(std::string_view text) {
    return std::ranges::all_of(unicode::decode_all(text), unicode::is_printable);
}

Value join(Interpreter& interpreter, const Value& self, const Arguments& a) {
    const Value& items = expect_one("str.join", a);
    if (!is_iterable(items) && !self.is_markup()) raise_type_error("can only join an iterable");
    std::string out;
    size_t i = 0;
    const Value iterator = iterate(items);
    for (Value each; iterator.as_iterator().next(each); ++i) {
        if (!each.is_str() && !self.is_markup()) {
            raise_type_error(fmt::format("sequence item {}: expected str instance, {} found", i, type_name(each)));
        }
        if (i) out += self.text();
        out += self.is_markup() ? escape(each).text() : each.text();
        interpreter.spend(1);
        if (out.size() > kMaxBytes) fail_too_large("text");
    }
    return Value::string(std::move(out), self.is_markup());
}

Value format(Interpreter& interpreter, const Value& self, const Arguments& a) {
    return Value::string(format_fields(interpreter, self.text(), a), self.is_markup());
}

Value format_map(Interpreter& interpreter, const Value& self, const Arguments& a) {
    if (!a.keyword.empty()) raise_type_error("format_map() takes no keyword arguments");
    if (a.positional.size() != 1)
        raise_type_error(fmt::format("format_map() takes exactly one argument ({} given)", a.positional.size()));
    return Value::string(format_fields(interpreter, self.text(), a.positional[0]), self.is_markup());
}

Value encode(Interpreter&, const Value&, const Arguments&) {
    raise_type_error("minfer's templates have no bytes, which str.encode gives");
}

Value translate(Interpreter& interpreter, const Value& self, const Arguments& a) {
    const Value& table = expect_one("str.translate", a);
    std::string out;
    for (const char32_t c : unicode::decode_all(self.text())) {
        const Value key = Value::integer(int64_t(c));
        if (!table.is(Type::Dict) && !table.is_sequence() && !table.is_str())
            raise_type_error(fmt::format("'{}' object is not subscriptable", type_name(table)));
        if (table.is_str()) interpreter.spend_on(table);
        const std::optional<Value> found = item(table, key);
        if (!found) {
            append_utf8(out, c);
        } else if (found->is_int()) {
            if (found->as_int() < 0 || found->as_int() > 0x10ffff)
                raise_value_error("character mapping must be in range(0x110000)");
            append_utf8(out, char32_t(found->as_int()));
        } else if (found->is_str()) {
            out += found->text();
        } else if (!found->is_none()) {
            raise_type_error("character mapping must return integer, None or str");
        }
    }
    return Value::string(std::move(out));
}

Value make_translation(Interpreter&, const Value&, const Arguments& a) {
    expect_between("maketrans", 1, 3, a);
    const auto dict = std::make_shared<Dict>();
    if (a.positional.size() == 1) {
        if (!a.positional[0].is(Type::Dict))
            raise_type_error("if you give only one argument to maketrans it must be a dict");
        for (const auto& [key, value] : a.positional[0].as_dict().entries) {
            if (key.is_int()) {
                dict->set(key, value);
            } else if (key.is_str()) {
                if (key.as_str().length != 1) raise_value_error("string keys in translate table must be of length 1");
                dict->set(Value::integer(int64_t(unicode::decode_all(key.text())[0])), value);
            } else {
                raise_type_error("keys in translate table must be strings or integers");
            }
        }
        return make_dict(dict);
    }
    for (size_t i = 0; i < a.positional.size(); ++i)
        if (!a.positional[i].is_str())
            raise_type_error(
                fmt::format("maketrans() argument {} must be str, not {}", i + 1, type_name(a.positional[i])));
    const auto from = unicode::decode_all(a.positional[0].text()), to = unicode::decode_all(a.positional[1].text());
    if (from.size() != to.size()) raise_value_error("the first two maketrans arguments must have equal length");
    for (size_t i = 0; i < from.size(); ++i)
        dict->set(Value::integer(int64_t(from[i])), Value::integer(int64_t(to[i])));
    if (a.positional.size() == 3)
        for (const char32_t c : unicode::decode_all(a.positional[2].text()))
            dict->set(Value::integer(int64_t(c)), Value::none());
    return make_dict(dict);
}

#define MINFER_CONVERT(name, function) \
    {name, [](Interpreter&, const Value& s, const Arguments& a) { return convert_text<function>(name, s, a); }}
#define MINFER_ASK(name, function) \
    {name, [](Interpreter&, const Value& s, const Arguments& a) { return ask<function>(name, s, a); }}

constexpr NamedMethod kMethods[] = {
    MINFER_CONVERT("upper", unicode::upper),
    MINFER_CONVERT("lower", unicode::lower),
    MINFER_CONVERT("title", unicode::title),
    MINFER_CONVERT("capitalize", unicode::capitalize),
    MINFER_CONVERT("casefold", unicode::casefold),
    MINFER_CONVERT("swapcase", unicode::swapcase),
    MINFER_ASK("isalnum", all_letters<unicode::is_alnum>),
    MINFER_ASK("isalpha", all_letters<unicode::is_alpha>),
    MINFER_ASK("isascii", is_ascii_text),
    MINFER_ASK("isdecimal", all_letters<unicode::is_decimal>),
    MINFER_ASK("isdigit", all_letters<unicode::is_digit>),
    MINFER_ASK("isidentifier", is_identifier_text),
    MINFER_ASK("islower", is_lower_text),
    MINFER_ASK("isnumeric", all_letters<unicode::is_numeric>),
    MINFER_ASK("isprintable", is_printable_text),
    MINFER_ASK("isspace", all_letters<unicode::is_space>),
    MINFER_ASK("istitle", is_title_text),
    MINFER_ASK("isupper", is_upper_text),
    {"join", join},
    {"format", format},
    {"format_map", format_map},
    {"encode", encode},
    {"translate", translate},
    {"maketrans", make_translation},
};

#undef MINFER_CONVERT
#undef MINFER_ASK

}  // namespace

bool is_lower_text(std::string_view text) {
    bool cased = false;
    for (const char32_t c : unicode::decode_all(text)) {
        if (unicode::is_upper(c) || unicode::is_title(c)) return false;
        cased |= unicode::is_lower(c);
    }
    return cased;
}

bool is_upper_text(std::string_view text) {
    bool cased = false;
    for (const char32_t c : unicode::decode_all(text)) {
        if (unicode::is_lower(c) || unicode::is_title(c)) return false;
        cased |= unicode::is_upper(c);
    }
    return cased;
}

Method find_text_method(std::string_view name) {
    const auto found = std::ranges::find(kMethods, name, &NamedMethod::name);
    return found == std::end(kMethods) ? find_split_method(name) : found->method;
}

}  // namespace minfer::chat::jinja
