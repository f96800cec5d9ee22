#include "cli/read_input.h"

#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/file.h"

namespace minfer::cli {

std::string read_whole_file(const std::string& path) {
    const File file = File::open(path);
    std::string text(file.size(), '\0');
    file.pread_exact(0, std::as_writable_bytes(std::span(text)));
    return text;
}

std::string read_standard_input() {
    std::string text;
    char buffer[65536];
    while (true) {
        const ssize_t n = ::read(STDIN_FILENO, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw IoError("standard input", "read", errno);
        if (n == 0) return text;
        text.append(buffer, size_t(n));
    }
}

}  // namespace minfer::cli
