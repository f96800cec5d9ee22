// Colours of a terminal, where they are wanted.
#pragma once

#include <string>
#include <string_view>

namespace minfer::cli {

// "on", "off", or "auto": on a terminal that is not dumb, unless NO_COLOR is set to something (no-color.org).
bool wants_color(std::string_view choice, int fd);

// Text that a model or a file wrote, for a terminal: control characters but newline and tab are shown as "^[", since
// they would move the cursor or worse. UTF-8 in, UTF-8 out.
std::string without_controls(std::string_view text);

class TextStyle {
  public:
    explicit TextStyle(bool color) : color_(color) {}
    bool color() const { return color_; }
    std::string dim(std::string_view text) const { return wrap("\x1b[2m", text); }
    std::string warning(std::string_view text) const { return wrap("\x1b[33m", text); }

  private:
    // Each piece by itself, so that the terminal is left as it was wherever the program ends.
    std::string wrap(std::string_view code, std::string_view text) const {
        if (!color_ || text.empty()) return std::string(text);
        return std::string(code) + std::string(text) + "\x1b[0m";
    }

    bool color_;
};

}  // namespace minfer::cli
