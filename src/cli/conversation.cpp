#include "cli/conversation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "base/error.h"
#include "cli/conversation_commands.h"
#include "cli/interrupt.h"
#include "cli/message_input.h"

namespace minfer::cli {
namespace {

bool on_terminal() { return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO); }

std::unique_ptr<LineInput> line_input(const TextStyle& style) {
    if (on_terminal()) return terminal_input(history_file(), style.color());
    return plain_input();
}

class Loop {
  public:
    Loop(Talk& talk, const ConversationOptions& options)
        : talk_(talk), options_(options), input_(line_input(talk.style()), options.multiline) {}

    int run(const std::optional<std::string>& prompt) {
        if (prompt) interrupted_ = handle({LineInput::Event::Line, *prompt, false}) == After::Interrupted;
        while (!(options_.single_turn && answered_)) {
            const MessageInput::Message message = input_.read();
            if (message.event == LineInput::Event::End) break;
            if (message.event == LineInput::Event::Interrupted) {
                if (interrupted_ && message.text.empty()) return kInterruptedStatus;
                interrupted_ = true;
                talk_.note("Ctrl-C again leaves");
                continue;
            }
            interrupted_ = false;
            const After after = handle(message);
            if (after == After::Leave) break;
            interrupted_ = after == After::Interrupted;
        }
        if (options_.single_turn && interrupted_) return kInterruptedStatus;
        return failed_ && !on_terminal() ? 1 : 0;
    }

  private:
    // What goes wrong in one turn is told, and the conversation goes on.
    After handle(const MessageInput::Message& message) {
        try {
            const After after = message.is_command     ? run_command(talk_, message.text)
                                : answer(message.text) ? After::GoOn
                                                       : After::Interrupted;
            talk_.keep();
            return after;
        } catch (const IoError& e) {
            if (e.path() == "standard output" || options_.single_turn) throw;  // nobody hears any more
            complain(e);
        } catch (const Error& e) {
            if (options_.single_turn) throw;
            complain(e);
        }
        return After::GoOn;
    }

    void complain(const Error& e) {
        failed_ = true;
        const std::string text = fmt::format("minfer: {}", e.what());
        fmt::print(stderr, "{}\n", isatty(STDERR_FILENO) ? talk_.style().warning(text) : text);
    }

    bool answer(const std::string& message) {
        if (message.find_first_not_of(" \t\r\n") == std::string::npos) return true;
        const bool whole = talk_.ask(message);
        answered_ = true;
        return whole;
    }

    Talk& talk_;
    ConversationOptions options_;
    MessageInput input_;
    bool interrupted_ = false;  // by the last Ctrl-C, with nothing typed since
    bool answered_ = false;
    bool failed_ = false;
};

}  // namespace

int converse(const GenerateArguments& arguments, const std::string& model, const std::optional<std::string>& prompt) {
    engine::Engine engine(model, arguments.engine);
    Talk talk(arguments, engine);
    if (on_terminal() && !arguments.conversation.single_turn)
        talk.note(fmt::format("{}, a context of {} tokens; /help lists commands", model, engine.n_ctx()));
    return Loop(talk, arguments.conversation).run(prompt);
}

}  // namespace minfer::cli
