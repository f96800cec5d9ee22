#include "chat/jinja/search.h"

namespace minfer::chat::jinja {

Searcher::Searcher(std::string_view wanted, From from) : wanted_(wanted), from_(from) {
    if (is_short()) return;
    const auto letter = [&](size_t i) { return wanted_[from_ == From::Left ? i : wanted_.size() - 1 - i]; };
    border_.resize(wanted_.size());
    uint32_t length = 0;
    for (size_t i = 1; i < wanted_.size(); ++i) {
        while (length > 0 && letter(i) != letter(length)) length = border_[length - 1];
        if (letter(i) == letter(length)) ++length;
        border_[i] = length;
    }
}

size_t Searcher::find(std::string_view text, size_t begin, size_t end) const {
    const std::string_view part = text.substr(begin, end - begin);
    if (is_short()) {
        const size_t at = from_ == From::Left ? part.find(wanted_) : part.rfind(wanted_);
        return at == part.npos ? at : begin + at;
    }
    const size_t n = wanted_.size();
    const auto letter = [n, this](size_t i) { return wanted_[from_ == From::Left ? i : n - 1 - i]; };
    size_t length = 0;  // of what has come of `wanted`
    for (size_t i = 0; i < part.size(); ++i) {
        const char c = part[from_ == From::Left ? i : part.size() - 1 - i];
        while (length > 0 && c != letter(length)) length = border_[length - 1];
        if (c == letter(length)) ++length;
        if (length == n) return begin + (from_ == From::Left ? i + 1 - n : part.size() - 1 - i);
    }
    return part.npos;
}

}  // namespace minfer::chat::jinja
