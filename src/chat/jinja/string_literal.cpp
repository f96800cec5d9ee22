#include "chat/jinja/string_literal.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "chat/jinja/error.h"
#include "chat/jinja/unicode.h"

namespace minfer::chat::jinja {
namespace {

// Python turns characters beyond ASCII into escapes first, so a backslash before one escapes that escape's backslash.
std::string backslash_replace(std::string_view text) {
    std::string out;
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

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

char32_t hex(std::string_view text, size_t& i, size_t count, char letter) {
    char32_t value = 0;
    for (size_t k = 0; k < count; ++k, ++i) {
        const int digit = i < text.size() ? hex_digit(text[i]) : -1;
        if (digit < 0)
            raise("TemplateSyntaxError", fmt::format("truncated \\{}{} escape", letter, std::string(count, 'X')));
        value = value << 4 | char32_t(digit);
    }
    if (value > 0x10ffff) raise("TemplateSyntaxError", "illegal Unicode character");
    return value;
}

}  // namespace

std::string unescape_literal(std::string_view literal) {
    if (literal.find('\\') == literal.npos) return std::string(literal);
    const std::string text = backslash_replace(literal);
    std::string out;
    for (size_t i = 0; i < text.size();) {
        const char c = text[i++];
        if (c != '\\') {
            out += c;
            continue;
        }
        if (i >= text.size()) raise("TemplateSyntaxError", "\\ at end of string");
        const char e = text[i++];
        switch (e) {
            case '\n':
                break;
            case '\\':
                out += '\\';
                break;
            case '\'':
                out += '\'';
                break;
            case '"':
                out += '"';
                break;
            case 'a':
                out += '\a';
                break;
            case 'b':
                out += '\b';
                break;
            case 'f':
                out += '\f';
                break;
            case 'n':
                out += '\n';
                break;
            case 'r':
                out += '\r';
                break;
            case 't':
                out += '\t';
                break;
            case 'v':
                out += '\v';
                break;
            case 'x':
                append_utf8(out, hex(text, i, 2, 'x'));
                break;
            case 'u':
                append_utf8(out, hex(text, i, 4, 'u'));
                break;
            case 'U':
                append_utf8(out, hex(text, i, 8, 'U'));
                break;
            case 'N':
                if (i >= text.size() || text[i] != '{' || text.find('}', i) == text.npos || text.find('}', i) == i + 1)
                    raise("TemplateSyntaxError", "malformed \\N character escape");
                raise("TemplateSyntaxError",
                      "minfer's templates know no character names, as in \\N{...}; write \\u or \\U");
            default:
                if (e >= '0' && e <= '7') {
                    char32_t value = char32_t(e - '0');
                    for (int k = 0; k < 2 && i < text.size() && text[i] >= '0' && text[i] <= '7'; ++k)
                        value = value * 8 + char32_t(text[i++] - '0');
                    append_utf8(out, value);
                } else {
                    out += '\\';
                    out += e;
                }
        }
    }
    return out;
}

}  // namespace minfer::chat::jinja
