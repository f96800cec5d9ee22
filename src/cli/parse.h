// Parsing of one subcommand's words, the same for all of them: CLI11, with minfer's exit statuses.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace minfer::cli {

// Parses `args` (without the program's and the subcommand's name). Gives 0 after printing what --help asks for, which
// the caller returns at once, or nothing when the command should run. Throws UsageError for words that are off.
std::optional<int> parse(CLI::App& app, const std::vector<std::string>& args);

}  // namespace minfer::cli
