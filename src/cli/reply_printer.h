// Writes a reply on standard output as it comes, the model's thoughts dimmed or folded away.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "chat/reasoning.h"
#include "cli/text_style.h"

namespace minfer::cli {

class ReplyPrinter {
  public:
    // `thinking`: the prompt left the model in the midst of its thoughts. Where `hide_thinking`, thoughts are not
    // written, but for a line in a terminal that says that there are some.
    ReplyPrinter(const TextStyle& style, bool hide_thinking, bool thinking);

    // Throws IoError.
    void write(std::string_view text);
    // Writes what was held back and the end of the last line.
    void finish();
    const std::string& thoughts() const { return thoughts_; }

  private:
    using Clock = std::chrono::steady_clock;

    void show(const chat::ReasoningSplitter::Piece& piece);
    void fold();
    void unfold();

    const TextStyle& style_;
    bool hide_thinking_;
    bool on_terminal_;
    chat::ReasoningSplitter splitter_;
    std::string thoughts_;
    bool folded_ = false;        // the line that stands for thoughts is on the screen
    bool after_hidden_ = false;  // space between hidden thoughts and the answer is hidden too
    bool at_line_start_ = true;
    Clock::time_point fold_start_;
};

}  // namespace minfer::cli
