// Filters that make text of text.
#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "chat/jinja/arguments.h"
#include "chat/jinja/error.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/methods.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/text_wrap.h"
#include "chat/jinja/unicode.h"

namespace minfer::chat::jinja {
namespace {

const Value kFalse = Value::boolean(false);

template <std::string (*convert)(std::string_view)>
Value converted(const char* name, const Value& input, const Arguments& a) {
    bind(name, {"s"}, {}, a);
    return Value::string(convert(str(input)), input.is_markup());
}

Value upper(Interpreter&, const Value& v, const Arguments& a) { return converted<unicode::upper>("do_upper", v, a); }
Value lower(Interpreter&, const Value& v, const Arguments& a) { return converted<unicode::lower>("do_lower", v, a); }
Value capitalize(Interpreter&, const Value& v, const Arguments& a) {
    return converted<unicode::capitalize>("do_capitalize", v, a);
}

bool starts_word(char32_t c) {
    return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || unicode::is_space(c);
}

// Unlike str.title, only white space, hyphens and opening brackets part the words.
std::string title_text(std::string_view text) {
    std::string out, word;
    bool in_word = false;
    const auto flush = [&] {
        if (word.empty()) return;
        size_t first = 0;
        unicode::decode(word, first);
        out += unicode::upper(std::string_view(word).substr(0, first)) +
               unicode::lower(std::string_view(word).substr(first));
        word.clear();
    };
    for (const char32_t c : unicode::decode_all(text)) {
        if (starts_word(c) == in_word) flush();
        in_word = !starts_word(c);
        append_utf8(word, c);
    }
    flush();
    return out;
}

Value title(Interpreter&, const Value& v, const Arguments& a) {
    bind("do_title", {"s"}, {}, a);
    return Value::string(title_text(str(v)));
}

Value trim(Interpreter&, const Value& v, const Arguments& a) {
    const auto given = bind("do_trim", {"value"}, {{"chars", Value::none()}}, a);
    if (!given[0].is_none() && !given[0].is_str()) raise_type_error("strip arg must be None or str");
    return Value::string(strip(str(v), given[0], true, true), v.is_markup());
}

Value replace_filter(Interpreter& i, const Value& v, const Arguments& a) {
    const auto given = bind("do_replace", {"eval_ctx", "s"}, {{"old", {}}, {"new", {}}, {"count", Value::none()}}, a);
    const int64_t count = given[2].is_none() ? -1 : to_index(given[2]);
    if (!i.autoescape()) return Value::string(replace(str(v), str(given[0]), str(given[1]), count));
    const bool escapes = given[0].is_markup() || (given[1].is_markup() && !v.is_markup());
    const Value text = escapes ? escape(v) : v;
    const std::string to = text.is_markup() ? escape(given[1]).text() : str(given[1]);
    return Value::string(replace(str(text), str(given[0]), to, count), text.is_markup());
}

Value center_filter(Interpreter&, const Value& v, const Arguments& a) {
    const auto given = bind("do_center", {"value"}, {{"width", Value::integer(80)}}, a);
    const Value text = v.is_str() ? v : Value::string(str(v));
    return Value::string(center(text.as_str(), to_index(given[0]), " "), v.is_markup());
}

Value indent(Interpreter&, const Value& v, const Arguments& a) {
    const auto given =
        bind("do_indent", {"s"}, {{"width", Value::integer(4)}, {"first", kFalse}, {"blank", kFalse}}, a);
    const std::string indention =
        given[0].is_str() ? given[0].text() : binary(Op::Mul, Value::string(" "), given[0]).text();
    if (v.is_undefined()) fail_undefined(v);
    // Jinja2 adds a line break in place, which a list takes for one more item.
    if (v.is(Type::List)) fail_attribute(v, "splitlines");
    if (!v.is_str() && !v.is(Type::Tuple))
        raise_type_error(fmt::format("unsupported operand type(s) for +=: '{}' and 'str'", type_name(v)));
    const Value text = binary(Op::Add, v, Value::string("\n"));
    const std::vector<std::string> lines = split_lines(text.text(), false);
    std::string out = truth(given[1]) ? indention : "";
    for (size_t i = 0; i < lines.size(); ++i) {
        if (i) out += "\n";
        if (i && (truth(given[2]) || !lines[i].empty())) out += indention;
        out += lines[i];
        if (out.size() > kMaxBytes) fail_too_large("text");
    }
    return Value::string(std::move(out), v.is_markup());
}

Value truncate(Interpreter&, const Value& v, const Arguments& a) {
    const auto given = bind("do_truncate", {"env", "s"},
                            {{"length", Value::integer(255)},
                             {"killwords", kFalse},
                             {"end", Value::string("...")},
                             {"leeway", Value::none()}},
                            a);
    const Value leeway = given[3].is_none() ? Value::integer(5) : given[3];
    const Value end_length = Value::integer(int64_t(length(given[2])));
    if (!compare(Op::Ge, given[0], end_length))
        raise("AssertionError", fmt::format("expected length >= {}, got {}", end_length.as_int(), str(given[0])));
    if (!compare(Op::Ge, leeway, Value::integer(0)))
        raise("AssertionError", fmt::format("expected leeway >= 0, got {}", str(leeway)));
    const Value size = Value::integer(int64_t(length(v)));
    if (!compare(Op::Gt, size, binary(Op::Add, given[0], leeway))) return v;
    const Value cut = slice(v, Value::none(), binary(Op::Sub, given[0], end_length), Value::none());
    if (truth(given[1])) return binary(Op::Add, cut, given[2]);
    if (!cut.is_str()) fail_attribute(cut, "rsplit");
    const size_t space = cut.text().rfind(' ');
    return binary(Op::Add, Value::string(cut.text().substr(0, space), cut.is_markup()), given[2]);
}

Value word_count(Interpreter&, const Value& v, const Arguments& a) {
    bind("do_wordcount", {"s"}, {}, a);
    int64_t n = 0;
    bool in_word = false;
    for (const char32_t c : unicode::decode_all(str(v))) {
        n += unicode::is_word(c) && !in_word;
        in_word = unicode::is_word(c);
    }
    return Value::integer(n);
}

Value word_wrap(Interpreter&, const Value& v, const Arguments& a) {
    const auto given = bind("do_wordwrap", {"environment", "s"},
                            {{"width", Value::integer(79)},
                             {"break_long_words", Value::boolean(true)},
                             {"wrapstring", Value::none()},
                             {"break_on_hyphens", Value::boolean(true)}},
                            a);
    if (!given[2].is_none() && !given[2].is_str()) fail_attribute(given[2], "join");
    if (!v.is_str()) fail_attribute(v, "splitlines");
    std::string out;
    const std::string separator = given[2].is_none() ? "\n" : given[2].text();
    const bool markup = given[2].is_markup();
    bool first = true;
    for (const std::string& line : split_lines(v.text(), false)) {
        if (!first) out += separator;
        first = false;
        const std::vector<std::string> wrapped = wrap_text(line, given[0], truth(given[1]), truth(given[3]));
        for (size_t i = 0; i < wrapped.size(); ++i) {
            if (i) out += separator;
            out += markup ? escape(Value::string(wrapped[i])).text() : wrapped[i];
        }
        if (out.size() > kMaxBytes) fail_too_large("text");
    }
    return Value::string(std::move(out), markup);
}

Value format_filter(Interpreter&, const Value& v, const Arguments& a) {
    if (!a.positional.empty() && !a.keyword.empty())
        raise("FilterArgumentError", "can't handle positional and keyword arguments at the same time");
    const Value format = v.is_str() ? v : Value::string(str(v));
    if (a.keyword.empty()) return Value::string(percent_format(format, Value::tuple(a.positional)), v.is_markup());
    const auto dict = std::make_shared<Dict>();
    for (const auto& [key, value] : a.keyword) dict->set(key, value);
    return Value::string(percent_format(format, make_dict(dict)), v.is_markup());
}

Value string(Interpreter&, const Value& v, const Arguments& a) {
    bind("soft_str", {"s"}, {}, a);
    return v.is_str() ? v : Value::string(str(v));
}

}  // namespace

const std::vector<NamedFilter> kTextFilters = {
    {"upper", upper},          {"lower", lower},        {"capitalize", capitalize},
    {"title", title},          {"trim", trim},          {"replace", replace_filter},
    {"center", center_filter}, {"indent", indent},      {"truncate", truncate},
    {"wordcount", word_count}, {"wordwrap", word_wrap}, {"format", format_filter},
    {"string", string},
};

}  // namespace minfer::chat::jinja
