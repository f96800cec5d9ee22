// A subcommand of the program: one file of src/cli each, all of them in the table of main.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace minfer::cli {

struct Command {
    std::string_view name;     // as typed: "info"
    std::string_view summary;  // one line of `minfer --help`
    // Runs it with the words after its name; gives the exit status. Throws Error for what a user should read, and
    // UsageError where the words themselves are off.
    int (*run)(const std::vector<std::string>& args);
};

}  // namespace minfer::cli
