#include "base/printable.h"

#include <fmt/format.h>

namespace minfer {

std::string printable(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
        if (text[i] == '\n') {
            out += "\\n";
        } else if (text[i] == '\t') {
            out += "\\t";
        } else if (byte < 0x20 || byte == 0x7f) {
            out += fmt::format("\\x{:02x}", byte);
        } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {  // U+0080 to U+009F, the other control characters
            out += fmt::format("\\x{:02x}\\x{:02x}", byte, next);
            ++i;
        } else {
            out += text[i];
        }
    }
    return out;
}

}  // namespace minfer
