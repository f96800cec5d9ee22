// Messages made of lines: one line each, or several.
#pragma once

#include <memory>
#include <string>

#include "cli/line_input.h"

namespace minfer::cli {

class MessageInput {
  public:
    // With `multiline` a message goes on until a line that ends in a backslash, or the end of the input.
    MessageInput(std::unique_ptr<LineInput> lines, bool multiline) : lines_(std::move(lines)), multiline_(multiline) {}

    struct Message {
        LineInput::Event event = LineInput::Event::End;
        std::string text;         // of an Event::Interrupted: what was given up
        bool is_command = false;  // one line that begins with a slash
    };

    // Without `multiline`, a line that ends in a backslash is joined with the next, and lines from one that begins with
    // three quotes to one that ends with them are one message, which may begin with a slash. Ctrl-C gives up all lines
    // of the message.
    Message read();

  private:
    Message read_block(std::string first);
    Message read_lines(std::string first);

    std::unique_ptr<LineInput> lines_;
    bool multiline_;
};

}  // namespace minfer::cli
