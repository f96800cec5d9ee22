#include "cli/conversation_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "cli/output.h"
#include "cli/read_input.h"

namespace minfer::cli {
namespace {

struct TalkCommand {
    std::string_view name;
    std::string_view argument;
    std::string_view summary;
    After (*run)(Talk& talk, const std::string& argument);
};

std::string count(size_t n, std::string_view what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

void say(const std::string& text) {
    fmt::print("{}\n", text);
    std::fflush(stdout);
}

const std::string& required(const std::string& argument, std::string_view command, std::string_view what) {
    if (argument.empty()) throw UsageError(fmt::format("{}: expected {}", command, what));
    return argument;
}

After clear(Talk& talk, const std::string&) {
    const size_t n = talk.conversation().transcript().turns.size();
    talk.conversation().clear();
    talk.note(fmt::format("forgot {}", count(n, "turn")));
    return After::GoOn;
}

After regenerate(Talk& talk, const std::string&) { return talk.regenerate() ? After::GoOn : After::Interrupted; }

After undo(Talk& talk, const std::string&) {
    talk.conversation().undo();
    talk.note(
        fmt::format("took the last turn back; {} left", count(talk.conversation().transcript().turns.size(), "turn")));
    return After::GoOn;
}

After set_system(Talk& talk, const std::string& argument) {
    if (argument.empty())
        talk.conversation().set_system(std::nullopt);
    else
        talk.conversation().set_system(argument);
    talk.note(argument.empty() ? "no system message from now on" : "the system message counts from now on");
    return After::GoOn;
}

After save(Talk& talk, const std::string& argument) {
    const chat::Transcript& transcript = talk.conversation().transcript();
    write_file(required(argument, "/save", "a file"), transcript.to_json().dump(1) + "\n");
    talk.note(fmt::format("saved {}", count(transcript.turns.size(), "turn")));
    return After::GoOn;
}

After load(Talk& talk, const std::string& argument) {
    const std::string text = read_whole_file(required(argument, "/load", "a file"));
    const auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) throw FormatError(argument, "conversation", "no JSON", "what /save writes");
    talk.conversation().set_transcript(chat::Transcript::from_json(json, argument), talk.conversation().n_drawn());
    talk.note(fmt::format("loaded {}", count(talk.conversation().transcript().turns.size(), "turn")));
    return After::GoOn;
}

After set(Talk& talk, const std::string& argument) {
    if (argument.empty()) throw UsageError("/set: expected NAME VALUE; /show lists what there is");
    const size_t space = std::min(argument.find(' '), argument.size());
    talk.set(argument.substr(0, space),
             argument.substr(std::min(argument.find_first_not_of(' ', space), argument.size())));
    return After::GoOn;
}

After show(Talk& talk, const std::string& argument) {
    if (argument == "thinking") {
        say(talk.last_thoughts().empty() ? "the last reply came without thinking"
                                         : talk.style().dim(without_controls(talk.last_thoughts())));
        return After::GoOn;
    }
    if (!argument.empty()) throw UsageError(fmt::format("/show: found '{}', expected thinking or nothing", argument));
    const engine::Conversation& conversation = talk.conversation();
    const chat::Transcript& transcript = conversation.transcript();
    say(fmt::format("model    {}\nsystem   {}\nturns    {}{}\ncontext  {} of {} tokens\n\n{}",
                    talk.engine().file().path(), transcript.system ? *transcript.system : "(none)",
                    transcript.turns.size(),
                    transcript.n_dropped ? fmt::format(", the oldest {} no longer seen", transcript.n_dropped) : "",
                    conversation.held().size(), talk.engine().n_ctx(), talk.show_settings()));
    return After::GoOn;
}

After leave(Talk&, const std::string&) { return After::Leave; }
After help(Talk& talk, const std::string&);

constexpr TalkCommand kCommands[] = {
    {"/help", "", "this", help},
    {"/exit", "", "leave; so do /quit, Ctrl-D, and Ctrl-C twice", leave},
    {"/quit", "", "leave", leave},
    {"/clear", "", "forget all turns; the system message stays", clear},
    {"/regen", "", "draw the last reply anew", regenerate},
    {"/undo", "", "take the last turn back", undo},
    {"/system", "TEXT", "the system message from now on; without TEXT: none", set_system},
    {"/save", "FILE", "write the conversation as JSON", save},
    {"/load", "FILE", "go on from a conversation in JSON", load},
    {"/set", "NAME VALUE", "change an option: /set temp 0.5; /set grammar: none any more", set},
    {"/show", "[thinking]", "what is set, and how full the context is; or what the model last thought", show},
};

After help(Talk&, const std::string&) {
    std::string text;
    for (const TalkCommand& command : kCommands)
        text += fmt::format("{:<19}{}\n", fmt::format("{} {}", command.name, command.argument), command.summary);
    say(text +
        "\nA line is a message. Lines from one that begins with \"\"\" to one that ends with \"\"\" are one, and so is "
        "a line\nthat ends in a backslash with the next. Ctrl-C stops a reply.");
    return After::GoOn;
}

}  // namespace

After run_command(Talk& talk, const std::string& line) {
    const size_t end = std::min(line.find(' '), line.size());
    const std::string name = line.substr(0, end);
    std::string argument = line.substr(std::min(line.find_first_not_of(' ', end), line.size()));
    argument.erase(argument.find_last_not_of(' ') + 1);
    for (const TalkCommand& command : kCommands)
        if (command.name == name) {
            if (command.argument.empty() && !argument.empty())
                throw UsageError(fmt::format("{} takes nothing, found '{}'", name, argument));
            return command.run(talk, argument);
        }
    throw UsageError(fmt::format(
        "there is no command {}; /help lists them, and a message that begins with a slash goes between \"\"\"", name));
}

}  // namespace minfer::cli
