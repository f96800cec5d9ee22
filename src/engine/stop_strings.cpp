#include "engine/stop_strings.h"

#include <algorithm>
#include <utility>

namespace minfer::engine {

StopStrings::StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {
    std::erase_if(strings_, [](const std::string& s) { return s.empty(); });
}

StopStrings::Step StopStrings::push(std::string_view piece) {
    held_ += piece;
    size_t first = std::string::npos;
    for (const std::string& s : strings_) first = std::min(first, held_.find(s));
    if (first != std::string::npos) {
        Step step{held_.substr(0, first), true};
        held_.clear();
        return step;
    }
    size_t keep = 0;  // the longest end of the text that begins a stop string
    for (const std::string& s : strings_)
        for (size_t n = std::min(s.size() - 1, held_.size()); n > keep; --n)
            if (std::string_view(held_).ends_with(std::string_view(s).substr(0, n))) keep = n;
    Step step{held_.substr(0, held_.size() - keep), false};
    held_.erase(0, step.text.size());
    return step;
}

std::string StopStrings::flush() { return std::exchange(held_, {}); }

}  // namespace minfer::engine
