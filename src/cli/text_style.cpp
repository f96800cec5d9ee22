#include "cli/text_style.h"

#include <unistd.h>

#include <cstdlib>

namespace minfer::cli {

bool wants_color(std::string_view choice, int fd) {
    if (choice != "auto") return choice == "on";
    const char* no_color = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    return isatty(fd) && !(no_color && *no_color) && terminal && *terminal && std::string_view(terminal) != "dumb";
}

std::string without_controls(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
            out += '^';
            out += char(c ^ 0x40);
        } else if (c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
            out += "^?";  // U+0080 to U+009F: the same as ESC and a letter
            ++i;
        } else {
            out += char(c);
        }
    }
    return out;
}

}  // namespace minfer::cli
