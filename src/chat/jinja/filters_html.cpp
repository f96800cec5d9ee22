// Filters for HTML and URLs. Chat templates hardly use them; they are here so that none is missing.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/utf8.h"
#include "chat/jinja/arguments.h"
#include "chat/jinja/error.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/html_entities.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/methods.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/pattern.h"
#include "chat/jinja/unicode.h"

namespace minfer::chat::jinja {
namespace {

Value escape_filter(Interpreter&, const Value& v, const Arguments& a) {
    bind("escape", {"s"}, {}, a);
    return escape(v);
}

Value force_escape(Interpreter&, const Value& v, const Arguments& a) {
    bind("do_forceescape", {"value"}, {}, a);
    return Value::string(escape_html(str(v)), true);
}

Value safe(Interpreter&, const Value& v, const Arguments& a) {
    bind("do_mark_safe", {"value"}, {}, a);
    return Value::string(str(v), true);
}

Value strip_tags(Interpreter&, const Value& v, const Arguments& a) {
    bind("do_striptags", {"value"}, {}, a);
    const std::string text = str(v);
    std::string kept;
    size_t at = 0;
    while (true) {
        const size_t start = text.find('<', at);
        if (start == std::string::npos) break;
        const bool comment = text.compare(start, 4, "<!--") == 0;
        const size_t end = comment ? text.find("-->", start + 4) : text.find('>', start);
        if (end == std::string::npos) break;
        kept += text.substr(at, start - at);
        at = end + (comment ? 3 : 1);
    }
    kept += text.substr(at);
    std::string out;
    for (const std::string& word : split_words(kept)) out.append(out.empty() ? "" : " ").append(word);
    return Value::string(unescape_html(out));
}

std::string quote(const Value& value, bool for_query) {
    std::string out;
    for (const char c : str(value)) {
        const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' ||
                           c == '~' || (c == '/' && !for_query);
        if (plain)
            out += c;
        else if (c == ' ' && for_query)
            out += '+';
        else
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out;
}

Value url_encode(Interpreter&, const Value& v, const Arguments& a) {
    bind("do_urlencode", {"value"}, {}, a);
    if (v.is_str() || !is_iterable(v)) return Value::string(quote(v, false));
    std::string out;
    const auto add = [&](const Value& key, const Value& value) {
        out += fmt::format("{}{}={}", out.empty() ? "" : "&", quote(key, true), quote(value, true));
    };
    if (v.is(Type::Dict)) {
        for (const auto& [key, value] : v.as_dict().entries) add(key, value);
        return Value::string(std::move(out));
    }
    for (const Value& each : to_vector(v)) {
        if (!is_iterable(each)) raise_type_error(fmt::format("cannot unpack non-iterable {} object", type_name(each)));
        const std::vector<Value> pair = to_vector(each);
        if (pair.size() > 2) raise_value_error("too many values to unpack (expected 2)");
        if (pair.size() < 2)
            raise_value_error(fmt::format("not enough values to unpack (expected 2, got {})", pair.size()));
        add(pair[0], pair[1]);
    }
    return Value::string(std::move(out));
}

Value xml_attributes(Interpreter& i, const Value& v, const Arguments& a) {
    const auto given = bind("do_xmlattr", {"eval_ctx", "d"}, {{"autospace", Value::boolean(true)}}, a);
    if (!v.is(Type::Dict)) fail_attribute(v, "items");
    std::string out;
    for (const auto& [key, value] : v.as_dict().entries) {
        if (value.is_none() || value.is_undefined()) continue;
        if (!key.is_str())
            raise_type_error(fmt::format("expected string or bytes-like object, got '{}'", type_name(key)));
        if (key.text().find_first_of(" \t\n\r\f\v/>=") != std::string::npos)
            raise_value_error(fmt::format("Invalid character in attribute name: {}", repr(key)));
        out += fmt::format("{}{}=\"{}\"", out.empty() ? "" : " ", escape(key).text(), escape(value).text());
    }
    if (truth(given[0]) && !out.empty()) out.insert(0, 1, ' ');
    return Value::string(std::move(out), i.autoescape());
}

struct Links {
    std::string rel, target;
    Value limit;  // of the shown text, or None
    std::vector<std::string> schemes;

    std::string shown(const std::string& url) const {
        const Value text = Value::string(url);
        if (limit.is_none() || !compare(Op::Gt, Value::integer(int64_t(text.as_str().length)), limit)) return url;
        return slice(text, Value::none(), limit, Value::none()).text() + "...";
    }

    std::string linked(const std::string& middle) const {
        static const Pattern http(
            R"(^((https?://|www\.)(([\w%-]+\.)+)?([a-z]{2,63}|xn--[\w%]{2,59})|([\w%-]{2,63}\.)+(com|net|int|edu|gov|org|info|mil)|(https?://)((([\d]{1,3})(\.[\d]{1,3}){3})|(\[([\da-f]{0,4}:){2}([\da-f]{0,4}:?){1,6}\])))(?::[\d]{1,5})?(?:[/?#]\S*)?$)",
            true);
        static const Pattern email(R"(^\S+@\w[\w.-]*\.\w+$)");
        if (http.in(middle)) {
            const bool has_scheme = middle.starts_with("https://") || middle.starts_with("http://");
            return fmt::format("<a href=\"{}{}\"{}{}>{}</a>", has_scheme ? "" : "https://", middle, rel, target,
                               shown(middle));
        }
        if (middle.starts_with("mailto:") && email.in(middle.substr(7)))
            return fmt::format("<a href=\"{}\">{}</a>", middle, middle.substr(7));
        if (middle.find('@') != std::string::npos && !middle.starts_with("www.") && !middle.starts_with("@") &&
            middle.find(':') == std::string::npos && email.in(middle))
            return fmt::format("<a href=\"mailto:{}\">{}</a>", middle, middle);
        std::string out = middle;
        for (const std::string& scheme : schemes)
            if (out != scheme && out.starts_with(scheme))
                out = fmt::format("<a href=\"{}\"{}{}>{}</a>", out, rel, target, out);
        return out;
    }
};

size_t count_of(std::string_view text, std::string_view what) {
    size_t n = 0;
    for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + what.size())) ++n;
    return n;
}

std::string link_word(std::string_view word, const Links& links) {
    std::string_view rest = word;
    while (true) {
        const size_t n = rest.starts_with("(") || rest.starts_with("<") ? 1 : rest.starts_with("&lt;") ? 4 : 0;
        if (n == 0) break;
        rest.remove_prefix(n);
    }
    const std::string_view head = word.substr(0, word.size() - rest.size());
    while (true) {
        const bool single = !rest.empty() && std::string_view(")>.,\n").find(rest.back()) != std::string_view::npos;
        const size_t n = rest.ends_with("&gt;") ? 4 : single ? 1 : 0;
        if (n == 0) break;
        rest.remove_suffix(n);
    }
    std::string middle(rest);
    std::string_view tail = word.substr(head.size() + rest.size());
    constexpr std::pair<std::string_view, std::string_view> kPairs[] = {{"(", ")"}, {"<", ">"}, {"&lt;", "&gt;"}};
    for (const auto& [open, close] : kPairs) {
        const size_t opened = count_of(middle, open);
        if (opened <= count_of(middle, close)) continue;
        for (size_t k = std::min(opened, count_of(tail, close)); k > 0; --k) {
            const size_t end = tail.find(close) + close.size();
            middle += tail.substr(0, end);
            tail.remove_prefix(end);
        }
    }
    return fmt::format("{}{}{}", head, links.linked(middle), tail);
}

Value urlize(Interpreter& i, const Value& v, const Arguments& a) {
    const auto given = bind("do_urlize", {"eval_ctx", "value"},
                            {{"trim_url_limit", Value::none()},
                             {"nofollow", Value::boolean(false)},
                             {"target", Value::none()},
                             {"rel", Value::none()},
                             {"extra_schemes", Value::none()}},
                            a);
    std::set<std::string> rel = {"noopener"};
    for (const std::string& each : split_words(truth(given[3]) ? str(given[3]) : "")) rel.insert(each);
    if (truth(given[1])) rel.insert("nofollow");
    Links links;
    std::string joined;
    for (const std::string& each : rel) joined.append(joined.empty() ? "" : " ").append(each);
    links.rel = fmt::format(" rel=\"{}\"", escape_html(joined));
    if (truth(given[2])) links.target = fmt::format(" target=\"{}\"", escape(given[2]).text());
    links.limit = given[0];
    static const Pattern scheme(R"(^([\w.+-]{2,}:(/){0,2})$)");
    if (!given[4].is_none()) {
        for (const Value& each : to_vector(given[4])) {
            if (!each.is_str())
                raise_type_error(fmt::format("expected string or bytes-like object, got '{}'", type_name(each)));
            if (!scheme.in(each.text()))
                raise("FilterArgumentError", fmt::format("{} is not a valid URI scheme prefix.", repr(each)));
            links.schemes.push_back(each.text());
        }
    }
    const std::string text = escape(v).text();
    std::string out, word;
    for (const char32_t c : unicode::decode_all(text)) {
        if (!unicode::is_space(c)) {
            append_utf8(word, c);
            continue;
        }
        out += link_word(word, links);
        word.clear();
        append_utf8(out, c);
    }
    return Value::string(out + link_word(word, links), i.autoescape());
}

}  // namespace

const std::vector<NamedFilter> kHtmlFilters = {
    {"e", escape_filter},      {"escape", escape_filter}, {"forceescape", force_escape}, {"safe", safe},
    {"striptags", strip_tags}, {"urlencode", url_encode}, {"xmlattr", xml_attributes},   {"urlize", urlize},
};

}  // namespace minfer::chat::jinja
