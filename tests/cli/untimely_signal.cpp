// A signal at an awkward moment: preloaded, it sends this process the signal $SIGNAL once the function that
// $SIGNAL_AFTER names ("pwrite", "fsync", "linkat" or "rename") has done its work for the first time. With
// $NO_NAMELESS_FILES the file system knows no O_TMPFILE, as NFS and FUSE do not.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

template <typename Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

template <typename Result>
Result signal_after(const char* name, Result result) {
    static std::atomic_flag sent;
    const char* wanted = std::getenv("SIGNAL_AFTER");
    const int saved = errno;
    if (wanted && std::strcmp(wanted, name) == 0 && !sent.test_and_set())
        kill(getpid(), std::atoi(std::getenv("SIGNAL")));
    errno = saved;
    return result;
}

// `arguments` holds the mode where `flags` ask for one.
int open_or_refuse(const char* name, const char* path, int flags, va_list arguments) {
    if ((flags & O_TMPFILE) == O_TMPFILE && std::getenv("NO_NAMELESS_FILES")) {
        errno = EOPNOTSUPP;
        return -1;
    }
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
    return next<int(const char*, int, ...)>(name)(path, flags, mode);
}

}  // namespace

extern "C" int open(const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const int fd = open_or_refuse("open", path, flags, arguments);
    va_end(arguments);
    return fd;
}
extern "C" int open64(const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const int fd = open_or_refuse("open64", path, flags, arguments);
    va_end(arguments);
    return fd;
}
extern "C" ssize_t pwrite(int fd, const void* bytes, size_t count, off_t offset) {
    return signal_after("pwrite", next<ssize_t(int, const void*, size_t, off_t)>("pwrite")(fd, bytes, count, offset));
}
extern "C" ssize_t pwrite64(int fd, const void* bytes, size_t count, off_t offset) {
    return signal_after("pwrite", next<ssize_t(int, const void*, size_t, off_t)>("pwrite64")(fd, bytes, count, offset));
}
extern "C" int fsync(int fd) { return signal_after("fsync", next<int(int)>("fsync")(fd)); }
extern "C" int linkat(int from, const char* old_path, int to, const char* new_path, int flags) {
    using Linkat = int(int, const char*, int, const char*, int);
    return signal_after("linkat", next<Linkat>("linkat")(from, old_path, to, new_path, flags));
}
extern "C" int rename(const char* from, const char* to) noexcept {
    return signal_after("rename", next<int(const char*, const char*)>("rename")(from, to));
}
