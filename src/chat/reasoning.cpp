#include "chat/reasoning.h"

#include <algorithm>

namespace minfer::chat {

namespace {

constexpr std::string_view kOpen = "<think>";
constexpr std::string_view kClose = "</think>";
constexpr std::string_view kSpace = " \t\r\n";

// How much of the end of `text` begins `tag`.
size_t begun(std::string_view text, std::string_view tag) {
    for (size_t n = std::min(text.size(), tag.size() - 1); n > 0; --n)
        if (text.ends_with(tag.substr(0, n))) return n;
    return 0;
}

}  // namespace

bool opens_reasoning(std::string_view prompt) {
    const size_t last = prompt.find_last_not_of(kSpace);
    return last != std::string_view::npos && prompt.substr(0, last + 1).ends_with(kOpen);
}

// Takes one piece off the held text. Gives false where nothing can be told yet.
bool ReasoningSplitter::step(std::vector<Piece>& out, bool at_end) {
    if (held_.empty()) return false;
    const auto give = [&](size_t n, bool thought) {
        if (n == 0) return;
        if (!out.empty() && out.back().thought == thought)
            out.back().text += held_.substr(0, n);
        else
            out.push_back({held_.substr(0, n), thought});
        held_.erase(0, n);
    };
    if (inside_) {
        const size_t close = held_.find(kClose);
        if (close == std::string::npos) {
            give(held_.size() - (at_end ? 0 : begun(held_, kClose)), true);
            return false;
        }
        give(close + kClose.size(), true);
        inside_ = false;
        return true;
    }
    if (!answering_) {
        const size_t start = std::min(held_.find_first_not_of(kSpace), held_.size());
        const std::string_view rest = std::string_view(held_).substr(start);
        if (rest.starts_with(kOpen)) {
            give(start + kOpen.size(), true);
            inside_ = true;
            return true;
        }
        if (!at_end && kOpen.starts_with(rest)) return false;  // space alone, or the beginning of a tag
        answering_ = !rest.empty();
    }
    give(held_.size(), false);
    return false;
}

std::vector<ReasoningSplitter::Piece> ReasoningSplitter::push(std::string_view text) {
    held_ += text;
    std::vector<Piece> out;
    while (step(out, false)) {
    }
    return out;
}

std::vector<ReasoningSplitter::Piece> ReasoningSplitter::flush() {
    std::vector<Piece> out;
    while (step(out, true)) {
    }
    return out;
}

}  // namespace minfer::chat
