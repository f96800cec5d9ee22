#include "cli/parse.h"

#include <algorithm>
#include <iostream>

#include "base/error.h"

namespace minfer::cli {

std::optional<int> parse(CLI::App& app, const std::vector<std::string>& args) {
    std::vector<std::string> reversed(args.rbegin(), args.rend());  // CLI11 takes the words from the back
    try {
        app.parse(reversed);
    } catch (const CLI::CallForHelp&) {
        std::cout << app.help();
        return 0;
    } catch (const CLI::ParseError& e) {
        throw UsageError(std::string(e.what()) + "; see --help");
    }
    return std::nullopt;
}

}  // namespace minfer::cli
