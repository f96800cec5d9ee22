#include "chat/jinja/text_wrap.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/utf8.h"
#include "chat/jinja/error.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/unicode.h"

namespace minfer::chat::jinja {
namespace {

using Codes = std::vector<char32_t>;
using Piece = std::span<const char32_t>;

struct Chunk {
    Piece codes;
    size_t ink;  // up to where it has others than white space
    bool blank() const { return ink == 0; }
    void cut(size_t n) {
        codes = codes.subspan(n);
        ink -= std::min(ink, n);
    }
};

size_t ink_of(Piece codes) {
    size_t end = codes.size();
    while (end > 0 && unicode::is_space(codes[end - 1])) --end;
    return end;
}

bool is_blank(char32_t c) { return c == ' ' || (c >= 9 && c <= 13); }
bool is_letter(char32_t c) { return unicode::is_word(c) && !unicode::is_decimal(c); }
bool is_word_punctuation(char32_t c) {
    return unicode::is_word(c) || c == '!' || c == '"' || c == '\'' || c == '&' || c == '.' || c == ',' || c == '?';
}

class Chunker {
  public:
    Chunker(const Codes& codes, bool on_hyphens) : c_(codes), on_hyphens_(on_hyphens) {}

    std::vector<Chunk> run() {
        std::vector<Chunk> out;
        for (size_t i = 0; i < c_.size();) {
            const size_t end = is_blank(c_[i]) ? run_of_blanks(i) : word(i);
            const Piece piece = Piece(c_).subspan(i, end - i);
            out.push_back({piece, ink_of(piece)});
            i = end;
        }
        return out;
    }

  private:
    char32_t at(size_t i) const { return i < c_.size() ? c_[i] : U'\0'; }

    size_t run_of_blanks(size_t i) const {
        while (i < c_.size() && is_blank(c_[i])) ++i;
        return i;
    }

    // Two hyphens or more, with a word after them: where that word starts, or 0.
    size_t dash(size_t i) const {
        size_t end = i;
        while (at(end) == '-') ++end;
        return end - i >= 2 && end < c_.size() && unicode::is_word(c_[end]) ? end : 0;
    }

    size_t word(size_t i) const {
        if (on_hyphens_ && i > 0 && is_word_punctuation(c_[i - 1]))
            if (const size_t end = dash(i)) return end;
        for (size_t end = i + 1;; ++end) {
            if (end >= c_.size() || is_blank(c_[end])) return end;
            if (!on_hyphens_) continue;
            if (c_[end] == '-' && hyphen_after(end)) return end + 1;
            if (is_word_punctuation(c_[end - 1]) && dash(end)) return end;
        }
    }

    // A hyphen between parts of two letters or more on its left (or a letter, a hyphen and a letter) and on its right.
    bool hyphen_after(size_t h) const {
        const bool left = (h >= 2 && is_letter(c_[h - 1]) && is_letter(c_[h - 2])) ||
                          (h >= 3 && is_word_punctuation(c_[h - 1]) && c_[h - 2] == '-' && is_letter(c_[h - 3]));
        if (!left || !is_letter(at(h + 1))) return false;
        return is_letter(at(h + 2)) || (at(h + 2) == '-' && is_letter(at(h + 3)));
    }

    const Codes& c_;
    bool on_hyphens_;
};

}  // namespace

std::vector<std::string> wrap_text(std::string_view text, const Value& width_value, bool break_long_words,
                                   bool break_on_hyphens) {
    const Codes codes = unicode::decode_all(text);
    std::vector<Chunk> chunks = Chunker(codes, break_on_hyphens).run();
    if (compare(Op::Le, width_value, Value::integer(0)))
        raise_value_error(fmt::format("invalid width {} (must be > 0)", repr(width_value)));
    const size_t width = size_t(width_value.is_int() ? width_value.as_int() : int64_t(to_real(width_value)));
    std::ranges::reverse(chunks);
    std::vector<std::string> lines;
    while (!chunks.empty()) {
        std::vector<Piece> line;
        size_t length = 0;
        if (!lines.empty() && chunks.back().blank()) chunks.pop_back();
        while (!chunks.empty() && length + chunks.back().codes.size() <= width) {
            length += chunks.back().codes.size();
            line.push_back(chunks.back().codes);
            chunks.pop_back();
        }
        if (!chunks.empty() && chunks.back().codes.size() > width) {
            const size_t space = std::max<size_t>(width < 1 ? 1 : width - length, 0);
            if (break_long_words) {
                const Piece chunk = chunks.back().codes;
                size_t end = space;
                if (break_on_hyphens && chunk.size() > space) {
                    // Behind the last hyphen that fits and has something else before it.
                    size_t hyphen = std::min(space, chunk.size());
                    while (hyphen > 0 && chunk[hyphen - 1] != '-') --hyphen;
                    if (hyphen > 1 && std::any_of(chunk.begin(), chunk.begin() + long(hyphen) - 1,
                                                  [](char32_t c) { return c != '-'; }))
                        end = hyphen;
                }
                line.push_back(chunk.first(end));
                chunks.back().cut(end);
            } else if (line.empty()) {
                line.push_back(chunks.back().codes);
                chunks.pop_back();
            }
        }
        if (!line.empty() && ink_of(line.back()) == 0) line.pop_back();
        if (line.empty()) continue;
        std::string joined;
        for (const Piece each : line)
            for (const char32_t c : each) append_utf8(joined, c);
        lines.push_back(std::move(joined));
    }
    return lines;
}

}  // namespace minfer::chat::jinja
