#include "cli/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace minfer::cli {
namespace {

// Characters, not bytes.
size_t columns(std::string_view text) {
    return size_t(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

void print_table(const std::vector<std::vector<std::string>>& rows, const std::vector<Align>& alignment) {
    std::vector<size_t> width(alignment.size());
    for (const auto& row : rows)
        for (size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], columns(row[c]));
    for (const auto& row : rows) {
        std::string line = " ";
        for (size_t c = 0; c < row.size(); ++c) {
            const std::string gap(width[c] - columns(row[c]), ' ');
            const bool last = c + 1 == row.size();
            line += alignment[c] == Align::Right ? " " + gap + row[c] : " " + row[c] + (last ? "" : gap);
            if (!last) line += " ";
        }
        fmt::print("{}\n", line);
    }
}

}  // namespace minfer::cli
