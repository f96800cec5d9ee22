// Lines that a user types, or that come by a pipe.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace minfer::cli {

class LineInput {
  public:
    enum class Event { Line, End, Interrupted };
    struct Line {
        Event event = Event::End;
        std::string text;  // well-formed UTF-8 without the newline; of a line that Ctrl-C gave up, what there was of it
    };

    virtual ~LineInput() = default;
    // `prompt`, at least a character, is for a terminal alone. Ctrl-C gives up the line and is an event. Throws
    // IoError.
    virtual Line read(const std::string& prompt) = 0;
};

// Standard input as it comes, whatever it is.
std::unique_ptr<LineInput> plain_input();

// A terminal, with libedit: editing, history with Ctrl-R, ~/.editrc. What is pasted does not end the line; where it has
// several lines, "[N lines pasted]" stands for it until Enter. The history is that of the file, to which each line is
// added at once, so that conversations side by side do not lose each other's; an empty path means none.
std::unique_ptr<LineInput> terminal_input(const std::filesystem::path& history, bool color);

// $XDG_STATE_HOME/minfer/history, or ~/.local/state/minfer/history.
std::filesystem::path history_file();

}  // namespace minfer::cli
