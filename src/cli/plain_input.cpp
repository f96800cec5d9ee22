#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "cli/interrupt.h"
#include "cli/line_input.h"
#include "tokenizer/utf8.h"

namespace minfer::cli {
namespace {

class PlainInput final : public LineInput {
  public:
    Line read(const std::string&) override {
        const Interrupt interrupt(Interrupt::Again::IsTheSame);
        size_t searched = 0;
        while (true) {
            const size_t newline = buffer_.find('\n', searched);
            if (newline != std::string::npos) return take(newline, newline + 1);
            searched = buffer_.size();
            char bytes[65536];
            const ssize_t n = at_end_ ? 0 : ::read(STDIN_FILENO, bytes, sizeof bytes);
            if (n < 0 && errno != EINTR) throw IoError("standard input", "read", errno);
            if (interrupt.interrupted()) return {Event::Interrupted, {}};
            if (n < 0) continue;
            at_end_ = n == 0;
            if (at_end_) return buffer_.empty() ? Line{} : take(buffer_.size(), buffer_.size());
            buffer_.append(bytes, size_t(n));
        }
    }

  private:
    Line take(size_t length, size_t with_newline) {
        std::string text = tokenizer::replace_each_invalid_byte(std::string_view(buffer_).substr(0, length));
        if (text.ends_with('\r')) text.pop_back();
        buffer_.erase(0, with_newline);
        return {Event::Line, std::move(text)};
    }

    std::string buffer_;
    bool at_end_ = false;
};

}  // namespace

std::unique_ptr<LineInput> plain_input() { return std::make_unique<PlainInput>(); }

}  // namespace minfer::cli
