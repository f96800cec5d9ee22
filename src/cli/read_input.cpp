#include "cli/read_input.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/file.h"

namespace minfer::cli {

namespace {

std::string read_to_end(int fd, const std::string& name) {
    std::string text;
    char buffer[65536];
    while (true) {
        const ssize_t n = ::read(fd, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw IoError(name, "read", errno);
        if (n == 0) return text;
        text.append(buffer, size_t(n));
    }
}

}  // namespace

std::string read_whole_file(const std::string& path) {
    const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.is_open()) throw IoError(path, "open", errno);
    return read_to_end(fd.get(), path);
}

std::string read_standard_input() { return read_to_end(STDIN_FILENO, "standard input"); }

}  // namespace minfer::cli
