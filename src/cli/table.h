// Tables of text on standard output.
#pragma once

#include <string>
#include <vector>

namespace minfer::cli {

enum class Align { Left, Right };

// Prints rows of cells, indented, each column as wide as its widest cell; `alignment` has one entry a column.
void print_table(const std::vector<std::vector<std::string>>& rows, const std::vector<Align>& alignment);

}  // namespace minfer::cli
