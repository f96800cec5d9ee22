#include "chat/jinja/filters.h"

#include <unordered_map>

namespace minfer::chat::jinja {

FilterFunction find_filter(std::string_view name) {
    static const std::unordered_map<std::string_view, FilterFunction> table = [] {
        std::unordered_map<std::string_view, FilterFunction> all;
        for (const auto* part :
             {&kTextFilters, &kSequenceFilters, &kSelectionFilters, &kNumberFilters, &kHtmlFilters, &kOutputFilters})
            for (const NamedFilter& each : *part) all.emplace(each.name, each.filter);
        return all;
    }();
    const auto found = table.find(name);
    return found == table.end() ? nullptr : found->second;
}

}  // namespace minfer::chat::jinja
