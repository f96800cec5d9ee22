// minfer --cnv: a conversation in the terminal, or by lines of a pipe.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "cli/generate_arguments.h"
#include "cli/reply_printer.h"
#include "cli/session.h"
#include "cli/text_style.h"
#include "engine/conversation.h"

namespace minfer::cli {

// What to say when the oldest turns leave the context.
std::string dropped_text(size_t n_turns);

// Runs it to its end; gives the exit status. `prompt` is its first message, where there is one. Throws as Command::run
// does.
int converse(const GenerateArguments& arguments, const std::string& model, const std::optional<std::string>& prompt);

// The conversation and what is set about it: what its commands work on.
class Talk {
  public:
    Talk(const GenerateArguments& arguments, engine::Engine& engine);

    engine::Conversation& conversation() { return conversation_; }
    engine::Engine& engine() { return engine_; }
    // Changing them is up to set().
    const GenerateArguments& settings() const { return settings_; }
    const TextStyle& style() const { return style_; }
    const std::string& last_thoughts() const { return last_thoughts_; }

    // As `--NAME VALUE` on the command line, for the options that can change on the way; without a value, for those
    // that then hold nothing, as if it had not been given. Throws Error and changes nothing where it is none, or the
    // value is off.
    void set(const std::string& name, const std::string& value);
    // "NAME = VALUE" a line.
    std::string show_settings() const;

    // Both print the reply as it comes. Give false where Ctrl-C stopped it. Throw as engine::Conversation does.
    bool ask(const std::string& message);
    bool regenerate();

    // Writes the session's file, where there is one and the conversation has changed. Throws IoError.
    void keep();

    // A line for the user beside the conversation, on standard error.
    void note(const std::string& text) const;

  private:
    using Make =
        std::function<engine::Generation(const engine::GenerationOptions&, const engine::Conversation::Listener&)>;
    void take(GenerateArguments changed, const std::string& name);
    bool reply(const Make& make);
    void report(const engine::Generation& generation) const;
    engine::GenerationOptions generation_options() const;

    GenerateArguments settings_;
    engine::Engine& engine_;
    engine::Conversation conversation_;
    TextStyle style_;
    std::string last_thoughts_;
    std::optional<Session> session_;
};

}  // namespace minfer::cli
