#include "cli/message_input.h"

namespace minfer::cli {
namespace {

constexpr std::string_view kQuotes = "\"\"\"";
constexpr const char* kPrompt = "> ";
constexpr const char* kMore = ". ";

}  // namespace

MessageInput::Message MessageInput::read() {
    LineInput::Line line = lines_->read(kPrompt);
    if (line.event != LineInput::Event::Line) return {line.event, std::move(line.text)};
    if (line.text.starts_with('/') && line.text.find('\n') == std::string::npos)
        return {line.event, std::move(line.text), true};
    if (line.text.starts_with(kQuotes)) return read_block(line.text.substr(kQuotes.size()));
    return read_lines(std::move(line.text));
}

MessageInput::Message MessageInput::read_block(std::string text) {
    while (!text.ends_with(kQuotes)) {
        const LineInput::Line line = lines_->read(kMore);
        if (line.event == LineInput::Event::End) return {LineInput::Event::Line, std::move(text)};
        text += '\n';
        text += line.text;
        if (line.event == LineInput::Event::Interrupted) return {line.event, std::move(text)};
    }
    text.resize(text.size() - kQuotes.size());
    if (text.starts_with('\n')) text.erase(0, 1);
    if (text.ends_with('\n')) text.pop_back();
    return {LineInput::Event::Line, std::move(text)};
}

MessageInput::Message MessageInput::read_lines(std::string text) {
    while (text.ends_with('\\') != multiline_) {
        if (!multiline_) text.pop_back();
        const LineInput::Line line = lines_->read(kMore);
        if (line.event == LineInput::Event::End) return {LineInput::Event::Line, std::move(text)};
        text += '\n';
        text += line.text;
        if (line.event == LineInput::Event::Interrupted) return {line.event, std::move(text)};
    }
    if (multiline_) text.pop_back();
    return {LineInput::Event::Line, std::move(text)};
}

}  // namespace minfer::cli
