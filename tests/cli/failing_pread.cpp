// A disk that fails: preloaded, it lets positioned reads of files named *.gguf through until $FAIL_AFTER_BYTES bytes
// have been read, and then answers with an I/O error.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool is_model(int fd) {
    char link[64], path[4096];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    return n > 5 && std::memcmp(path + n - 5, ".gguf", 5) == 0;
}

ssize_t read_or_fail(const char* name, int fd, void* out, size_t count, off_t offset) {
    static std::atomic<long> left{std::atol(std::getenv("FAIL_AFTER_BYTES"))};
    if (is_model(fd) && (left -= long(count)) < 0) {
        errno = EIO;
        return -1;
    }
    return reinterpret_cast<ssize_t (*)(int, void*, size_t, off_t)>(dlsym(RTLD_NEXT, name))(fd, out, count, offset);
}

}  // namespace

extern "C" ssize_t pread(int fd, void* out, size_t count, off_t offset) {
    return read_or_fail("pread", fd, out, count, offset);
}
extern "C" ssize_t pread64(int fd, void* out, size_t count, off_t offset) {
    return read_or_fail("pread64", fd, out, count, offset);
}
