#include "cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <span>

#include "base/atomic_file.h"
#include "base/error.h"

namespace minfer::cli {

// Not by stdio, for which a signal during a write that waits is the end of the stream: Ctrl-C at a slow terminal.
void write_out(std::string_view text) {
    if (std::fflush(stdout) != 0) throw IoError("standard output", "write", errno);
    while (!text.empty()) {
        const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
        if (n >= 0)
            text.remove_prefix(size_t(n));
        else if (errno != EINTR)
            throw IoError("standard output", "write", errno);
    }
}

void write_file(const std::string& path, std::string_view text) {
    AtomicFile file(path);
    file.write(std::as_bytes(std::span(text)));
    file.commit();
}

}  // namespace minfer::cli
