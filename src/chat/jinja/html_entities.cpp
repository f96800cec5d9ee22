#include "chat/jinja/html_entities.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/utf8.h"

namespace minfer::chat::jinja {
namespace {

struct Entity {
    std::string_view name;  // with its semicolon, but for the old ones that may lack it
    std::string_view text;
};

constexpr Entity kEntities[] = {
#include "chat/jinja/html_entity_table.inl"
};
static_assert(std::ranges::is_sorted(kEntities, {}, &Entity::name));

std::optional<std::string_view> named(std::string_view name) {
    const auto* const found = std::ranges::lower_bound(kEntities, name, {}, &Entity::name);
    if (found == std::end(kEntities) || found->name != name) return std::nullopt;
    return found->text;
}

// What the numbers 0x80 to 0x9f stand for: authors who wrote them meant Windows-1252.
constexpr char32_t kWindows1252[] = {
    0x20ac, 0x81,   0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021, 0x2c6,  0x2030, 0x160,
    0x2039, 0x152,  0x8d,   0x17d,  0x8f,   0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0x9d,   0x17e,  0x178,
};
constexpr char32_t kLargestCode = 0x10ffff;

bool is_control(char32_t code) {
    return (code < 0x20 && code != '\t' && code != '\n' && code != '\f' && code != '\r') || code == 0x7f;
}
bool is_no_character(char32_t code) { return (code >= 0xfdd0 && code <= 0xfdef) || (code & 0xfffe) == 0xfffe; }

void append_number(std::string& out, char32_t code) {
    if (code >= 0x80 && code <= 0x9f)
        append_utf8(out, kWindows1252[code - 0x80]);
    else if (code == 0 || (code >= 0xd800 && code <= 0xdfff) || code > kLargestCode)
        append_utf8(out, 0xfffd);
    else if (!is_control(code) && !is_no_character(code))
        append_utf8(out, code);
}

// Reads "#123;" or "#x7b;" at the start of `rest`. Gives its length, or 0 where there is no number.
size_t number(std::string_view rest, std::string& out) {
    const bool hex = rest.size() > 1 && (rest[1] == 'x' || rest[1] == 'X');
    const size_t begin = hex ? 2 : 1;
    size_t end = begin;
    char32_t code = 0;
    for (; end < rest.size(); ++end) {
        const char c = rest[end], lower = char(c | 0x20);
        char32_t digit;
        if (c >= '0' && c <= '9')
            digit = char32_t(c - '0');
        else if (hex && lower >= 'a' && lower <= 'f')
            digit = char32_t(lower - 'a' + 10);
        else
            break;
        code = std::min(code * (hex ? 16 : 10) + digit, kLargestCode + 1);
    }
    if (end == begin) return 0;
    append_number(out, code);
    return end + (end < rest.size() && rest[end] == ';');
}

// Reads a name at the start of `rest`: up to 32 characters, and a semicolon. Gives its length; of a name that is not
// known, not even its start, 0.
size_t name(std::string_view rest, std::string& out) {
    size_t end = 0;
    for (int n = 0;
         n < 32 && end < rest.size() && std::string_view("\t\n\f <&#;").find(rest[end]) == std::string_view::npos;
         ++n) {
        ++end;
        while (end < rest.size() && (rest[end] & 0xc0) == 0x80) ++end;  // the rest of its UTF-8
    }
    if (end == 0) return 0;
    if (end < rest.size() && rest[end] == ';') ++end;
    for (size_t length = end; length >= 2; --length)
        if (const auto text = named(rest.substr(0, length))) {
            out += *text;
            return length;
        }
    return 0;
}

}  // namespace

std::string unescape_html(std::string_view text) {
    std::string out;
    size_t at = 0;
    while (true) {
        const size_t start = std::min(text.find('&', at), text.size());
        out += text.substr(at, start - at);
        if (start == text.size()) return out;
        const std::string_view rest = text.substr(start + 1);
        const size_t length = rest.starts_with('#') ? number(rest, out) : name(rest, out);
        if (length == 0) out += '&';
        at = start + 1 + length;
    }
}

}  // namespace minfer::chat::jinja
