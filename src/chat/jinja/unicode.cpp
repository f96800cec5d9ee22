#include "chat/jinja/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "base/utf8.h"

namespace minfer::chat::jinja::unicode {
namespace {

struct SpecialCase {
    char32_t code;
    const char* text;
};
struct Range {
    char32_t first, last;
};
#include "chat/jinja/unicode_tables.inc"

const char* special(std::span<const SpecialCase> table, char32_t c) {
    const auto found = std::ranges::lower_bound(table, c, {}, &SpecialCase::code);
    return found != table.end() && found->code == c ? found->text : nullptr;
}

bool in(std::span<const Range> table, char32_t c) {
    const auto found = std::ranges::lower_bound(table, c, {}, &Range::last);
    return found != table.end() && found->first <= c;
}

utf8proc_category_t category(char32_t c) { return utf8proc_category(utf8proc_int32_t(c)); }

void append_upper(std::string& to, char32_t c) {
    if (const char* text = special(kUpper, c))
        to += text;
    else
        append_utf8(to, char32_t(utf8proc_toupper(utf8proc_int32_t(c))));
}

void append_title(std::string& to, char32_t c) {
    if (const char* text = special(kTitle, c))
        to += text;
    else
        append_utf8(to, char32_t(utf8proc_totitle(utf8proc_int32_t(c))));
}

bool is_cased(char32_t c) { return is_lower(c) || is_upper(c) || is_title(c); }

bool is_case_ignorable(char32_t c) {
    switch (category(c)) {
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_ME:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_SK:
            return true;
        default:
            return c == '\'' || c == '.' || c == ':' || c == 0xb7 || c == 0x2019 || c == 0x2018;
    }
}

// A capital sigma that ends a word becomes the final small sigma.
bool is_final_sigma(const std::vector<char32_t>& codes, size_t i) {
    size_t before = i;
    while (before > 0 && is_case_ignorable(codes[before - 1])) --before;
    if (before == 0 || !is_cased(codes[before - 1])) return false;
    size_t after = i + 1;
    while (after < codes.size() && is_case_ignorable(codes[after])) ++after;
    return after == codes.size() || !is_cased(codes[after]);
}

void append_lower(std::string& to, const std::vector<char32_t>& codes, size_t i) {
    const char32_t c = codes[i];
    if (c == 0x130)
        to += "i\xcc\x87";
    else if (c == 0x3a3)
        append_utf8(to, is_final_sigma(codes, i) ? 0x3c2 : 0x3c3);
    else
        append_utf8(to, char32_t(utf8proc_tolower(utf8proc_int32_t(c))));
}

}  // namespace

char32_t decode(std::string_view text, size_t& position) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(position);
    if (first < 0x80) {
        ++position;
        return first;
    }
    const size_t extra = first >= 0xf0 && first < 0xf8 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
    if (extra == 0 || first >= 0xf8 || position + extra >= text.size()) {
        ++position;
        return 0xfffd;
    }
    char32_t code = first & (0x3fu >> extra);
    for (size_t i = 1; i <= extra; ++i) {
        if ((byte(position + i) & 0xc0) != 0x80) {
            ++position;
            return 0xfffd;
        }
        code = code << 6 | (byte(position + i) & 0x3fu);
    }
    position += extra + 1;
    return code;
}

std::string encode(char32_t code) {
    std::string text;
    append_utf8(text, code);
    return text;
}

size_t length(std::string_view text) {
    size_t n = 0;
    for (size_t i = 0; i < text.size(); ++n) decode(text, i);
    return n;
}

std::vector<char32_t> decode_all(std::string_view text) {
    std::vector<char32_t> codes;
    codes.reserve(text.size());
    for (size_t i = 0; i < text.size();) codes.push_back(decode(text, i));
    return codes;
}

bool is_ascii(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool is_space(char32_t c) {
    if (c < 0x80) return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20);
    return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

bool is_alpha(char32_t c) {
    if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const utf8proc_category_t k = category(c);
    return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(char32_t c) { return c < 0x80 ? c >= '0' && c <= '9' : category(c) == UTF8PROC_CATEGORY_ND; }

bool is_digit(char32_t c) { return is_decimal(c) || in(kOtherDigit, c); }

bool is_numeric(char32_t c) {
    if (c < 0x80) return c >= '0' && c <= '9';
    const utf8proc_category_t k = category(c);
    return k == UTF8PROC_CATEGORY_ND || k == UTF8PROC_CATEGORY_NL || k == UTF8PROC_CATEGORY_NO || in(kOtherNumeric, c);
}

bool is_upper(char32_t c) {
    if (c < 0x80) return c >= 'A' && c <= 'Z';
    return category(c) == UTF8PROC_CATEGORY_LU || in(kOtherUpper, c);
}

bool is_lower(char32_t c) {
    if (c < 0x80) return c >= 'a' && c <= 'z';
    return category(c) == UTF8PROC_CATEGORY_LL || in(kOtherLower, c);
}

bool is_title(char32_t c) { return c >= 0x80 && category(c) == UTF8PROC_CATEGORY_LT; }

bool is_printable(char32_t c) {
    if (c < 0x80) return c >= 0x20 && c < 0x7f;
    switch (category(c)) {
        case UTF8PROC_CATEGORY_CC:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_CS:
        case UTF8PROC_CATEGORY_CO:
        case UTF8PROC_CATEGORY_CN:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP:
        case UTF8PROC_CATEGORY_ZS:
            return false;
        default:
            return true;
    }
}

bool is_identifier_start(char32_t c) {
    return c == '_' || is_alpha(c) || (c >= 0x80 && category(c) == UTF8PROC_CATEGORY_NL);
}

bool is_identifier_part(char32_t c) {
    if (is_identifier_start(c) || is_decimal(c)) return true;
    if (c < 0x80) return false;
    switch (category(c)) {
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_MC:
        case UTF8PROC_CATEGORY_PC:
            return true;
        default:
            return c == 0xb7 || c == 0x387 || (c >= 0x1369 && c <= 0x1371) || c == 0x19da;
    }
}

int decimal_value(char32_t c) {
    if (c < 0x80) return c >= '0' && c <= '9' ? int(c - '0') : -1;
    if (!is_decimal(c)) return -1;
    if (c >= 0x1d7ce && c <= 0x1d7ff) return int((c - 0x1d7ce) % 10);  // five runs of mathematical digits, side by side
    // Decimal digits come in aligned runs of ten in code order; the run starts where the character before is none.
    int value = 0;
    while (value < 9 && is_decimal(c - 1)) --c, ++value;
    return value;
}

std::string upper(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < text.size();) append_upper(out, decode(text, i));
    return out;
}

std::string lower(std::string_view text) {
    const std::vector<char32_t> codes = decode_all(text);
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < codes.size(); ++i) append_lower(out, codes, i);
    return out;
}

std::string casefold(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size();) {
        utf8proc_int32_t folded[8];
        int boundary = 0;
        const char32_t c = decode(text, i);
        const auto n = utf8proc_decompose_char(utf8proc_int32_t(c), folded, 8, UTF8PROC_CASEFOLD, &boundary);
        if (n <= 0) append_utf8(out, c);
        for (int k = 0; k < n; ++k) append_utf8(out, char32_t(folded[k]));
    }
    return out;
}

std::string title(std::string_view text) {
    const std::vector<char32_t> codes = decode_all(text);
    std::string out;
    bool in_word = false;
    for (size_t i = 0; i < codes.size(); ++i) {
        if (in_word)
            append_lower(out, codes, i);
        else
            append_title(out, codes[i]);
        in_word = is_cased(codes[i]);
    }
    return out;
}

std::string capitalize(std::string_view text) {
    const std::vector<char32_t> codes = decode_all(text);
    std::string out;
    for (size_t i = 0; i < codes.size(); ++i) {
        if (i == 0)
            append_title(out, codes[i]);
        else
            append_lower(out, codes, i);
    }
    return out;
}

std::string swapcase(std::string_view text) {
    const std::vector<char32_t> codes = decode_all(text);
    std::string out;
    for (size_t i = 0; i < codes.size(); ++i) {
        if (is_upper(codes[i]))
            append_lower(out, codes, i);
        else if (is_lower(codes[i]))
            append_upper(out, codes[i]);
        else
            append_utf8(out, codes[i]);
    }
    return out;
}

}  // namespace minfer::chat::jinja::unicode
