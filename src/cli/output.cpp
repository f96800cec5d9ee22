#include "cli/output.h"

#include <cerrno>
#include <cstdio>
#include <span>

#include "base/atomic_file.h"
#include "base/error.h"

namespace minfer::cli {

void write_out(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        throw IoError("standard output", "write", errno);
}

void write_file(const std::string& path, std::string_view text) {
    AtomicFile file(path);
    file.write(std::as_bytes(std::span(text)));
    file.commit();
}

}  // namespace minfer::cli
