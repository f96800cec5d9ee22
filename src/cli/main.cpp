// The program: a table of subcommands. What a command throws becomes one line on standard error and an exit status.
#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/printable.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/generate.h"

namespace minfer::cli {
namespace {

std::span<const Command> all_commands() {
    static const std::vector<Command> table = {
        kBenchCommand,      kCompareCommand,  kConvertCommand, kInfoCommand,  kLogitsCommand,   kMergeCommand,
        kPerplexityCommand, kQuantizeCommand, kRenderCommand,  kSplitCommand, kTokenizeCommand, kVerifyCommand,
    };
    return table;
}

// Of the words on having no memory left: what takes less of it. The other commands take little, whatever their options.
std::string_view less_memory(std::string_view command) {
    if (command.empty()) return "; a smaller --n-ctx or --n-batch takes less";
    const bool runs_a_model =
        command == kBenchCommand.name || command == kLogitsCommand.name || command == kPerplexityCommand.name;
    return runs_a_model ? "; a smaller --n-batch takes less" : "";
}

void print_help() {
    fmt::print(
        "minfer: the same bits, everywhere\n\nusage:\n"
        "  minfer [OPTIONS] MODEL [PROMPT]  generate text\n"
        "  minfer [OPTIONS] PROMPT          the same with the default model\n"
        "  minfer --cnv [OPTIONS] [MODEL]   hold a conversation\n");
    for (const Command& command : all_commands()) fmt::print("  minfer {:<12} {}\n", command.name, command.summary);
    fmt::print("\n`minfer COMMAND --help` says more of each.\n\n");
    std::fflush(stdout);  // CLI11 prints by a stream of its own
    generate({"--help"});
}

int run(const std::vector<std::string>& args) {
    if (args.empty() || args[0] == "--help" || args[0] == "-h") {
        print_help();
        return args.empty() ? 2 : 0;
    }
    std::string prefix = "minfer";
    std::string_view name;  // of the subcommand
    try {
        for (const Command& command : all_commands()) {
            if (command.name != args[0]) continue;
            name = command.name;
            prefix = fmt::format("minfer {}", name);
            return command.run({args.begin() + 1, args.end()});
        }
        return generate(args);
    } catch (const UsageError& e) {
        fmt::print(stderr, "{}: {}\n", prefix, printable(e.what()));
        return 2;
    } catch (const std::bad_alloc&) {
        fmt::print(stderr, "{}: out of memory{}\n", prefix, less_memory(name));
        return 1;
    } catch (const std::exception& e) {
        fmt::print(stderr, "{}: {}\n", prefix, printable(e.what()));
        return 1;
    }
}

// What a command printed may still wait in a buffer, and may not fit where it goes: that is a failure like any other.
int flush_output(int status) {
    std::cout.flush();
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return status;
    fmt::print(stderr, "minfer: standard output: cannot write: {}\n", std::generic_category().message(errno));
    return status == 0 ? 1 : status;
}

}  // namespace
}  // namespace minfer::cli

int main(int argc, char** argv) {
    std::signal(SIGXFSZ, SIG_IGN);  // a file that grows past a limit is an error of its write, which has words
    return minfer::cli::flush_output(minfer::cli::run({argv + 1, argv + argc}));
}
