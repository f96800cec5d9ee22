#include "tokenizer/nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace minfer::tokenizer {
namespace {

int combining_class(utf8proc_int32_t c) { return int(utf8proc_get_property(c)->combining_class); }

// Canonical ordering: each run of marks (combining class not 0) sorted by class, marks of one class in their order.
// utf8proc's own pass is a bubble sort, quadratic in a run's length, and text chooses that length.
void order_marks(std::vector<utf8proc_int32_t>& text) {
    struct Mark {
        int combining_class;
        size_t place;  // makes the sort stable
        utf8proc_int32_t character;
        auto operator<=>(const Mark&) const = default;
    };
    std::vector<Mark> run;
    for (size_t i = 0; i <= text.size(); ++i) {
        const int c = i < text.size() && text[i] >= 0x300 ? combining_class(text[i]) : 0;
        if (c != 0) {
            run.push_back({c, i, text[i]});
            continue;
        }
        std::ranges::sort(run);
        for (size_t k = 0; k < run.size(); ++k) text[i - run.size() + k] = run[k].character;
        run.clear();
    }
}

}  // namespace

std::string to_nfc(std::string_view text) {
    constexpr auto kCompose = utf8proc_option_t(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    std::vector<utf8proc_int32_t> characters;
    characters.reserve(text.size());
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
    for (size_t i = 0; i < text.size();) {
        if (bytes[i] < 0x80) {
            characters.push_back(bytes[i++]);
            continue;
        }
        utf8proc_int32_t c;
        const auto length = utf8proc_iterate(bytes + i, utf8proc_ssize_t(text.size() - i), &c);
        if (length <= 0) throw std::logic_error("to_nfc: the text is not UTF-8");
        i += size_t(length);
        std::array<utf8proc_int32_t, 32> parts;  // Unicode bounds a canonical decomposition by 4
        int boundary = 0;
        const auto n = utf8proc_decompose_char(c, parts.data(), utf8proc_ssize_t(parts.size()), kCompose, &boundary);
        if (n < 0 || size_t(n) > parts.size()) throw std::logic_error("to_nfc: a decomposition is too long");
        characters.insert(characters.end(), parts.begin(), parts.begin() + n);
    }
    order_marks(characters);
    const auto n = utf8proc_normalize_utf32(characters.data(), utf8proc_ssize_t(characters.size()), kCompose);
    if (n < 0) throw std::logic_error(std::string("to_nfc: ") + utf8proc_errmsg(n));

    std::string out;
    out.reserve(text.size());
    for (utf8proc_ssize_t i = 0; i < n; ++i) {
        std::array<utf8proc_uint8_t, 4> encoded;
        const auto length = utf8proc_encode_char(characters[size_t(i)], encoded.data());
        out.append(reinterpret_cast<const char*>(encoded.data()), size_t(length));
    }
    return out;
}

}  // namespace minfer::tokenizer
