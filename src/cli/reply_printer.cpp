#include "cli/reply_printer.h"

#include <fmt/format.h>
#include <unistd.h>

#include "cli/output.h"

namespace minfer::cli {

ReplyPrinter::ReplyPrinter(const TextStyle& style, bool hide_thinking, bool thinking)
    : style_(style),
      hide_thinking_(hide_thinking),
      on_terminal_(isatty(STDOUT_FILENO)),
      splitter_(thinking),
      after_hidden_(thinking && hide_thinking) {
    if (after_hidden_) fold();
}

void ReplyPrinter::fold() {
    if (folded_ || !on_terminal_) return;
    folded_ = true;
    fold_start_ = Clock::now();
    if (style_.color()) write_out(style_.dim("(thinking)"));
}

void ReplyPrinter::unfold() {
    if (!folded_) return;
    folded_ = false;
    const double seconds = std::chrono::duration<double>(Clock::now() - fold_start_).count();
    write_out((style_.color() ? "\r\x1b[K" : "") +
              style_.dim(fmt::format("(thought for {:.1f} s; /show thinking unfolds it)", seconds)) + "\n");
}

void ReplyPrinter::show(const chat::ReasoningSplitter::Piece& piece) {
    if (piece.thought) thoughts_ += piece.text;
    if (piece.thought && hide_thinking_) {
        after_hidden_ = true;
        fold();
        return;
    }
    std::string text = piece.text;
    if (after_hidden_ && !piece.thought) {
        text.erase(0, text.find_first_not_of(" \t\r\n"));
        if (text.empty()) return;
        after_hidden_ = false;
        unfold();
    }
    at_line_start_ = text.ends_with('\n');
    if (on_terminal_) text = without_controls(text);
    write_out(piece.thought ? style_.dim(text) : text);
}

void ReplyPrinter::write(std::string_view text) {
    for (const auto& piece : splitter_.push(text)) show(piece);
}

void ReplyPrinter::finish() {
    for (const auto& piece : splitter_.flush()) show(piece);
    unfold();
    // A reply ends its line, and in a pipe each reply is ended by one newline of its own, so that scripts can tell.
    if (!at_line_start_ || !on_terminal_) write_out("\n");
}

}  // namespace minfer::cli
