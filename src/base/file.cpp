#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/error.h"

namespace minfer {
namespace {

namespace fs = std::filesystem;

uint64_t page_size() {
    static const auto size = uint64_t(sysconf(_SC_PAGESIZE));
    return size;
}

}  // namespace

bool allow_more_open_files(uint64_t n) {
    constexpr uint64_t kFew = 16;  // open at any time, or about to be
    std::error_code error;
    const fs::directory_iterator open_ones("/proc/self/fd", error);
    const uint64_t wanted = n + kFew + (error ? 0 : uint64_t(std::distance(begin(open_ones), end(open_ones))));
    rlimit limit = {};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return true;  // then the open that is too many says so
    if (limit.rlim_cur >= wanted) return true;
    if (limit.rlim_max < wanted) return false;
    limit.rlim_cur = wanted;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

FileDescriptor::FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
        close();
        fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
}

FileDescriptor::~FileDescriptor() { close(); }

void FileDescriptor::close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

File File::open(const std::string& path) {
    File file;
    file.path_ = path;
    // Without waiting: a pipe that nobody writes to is refused below, not waited for.
    file.fd_ = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file.fd_.is_open()) throw IoError(path, "open", errno);
    struct stat status = {};
    if (fstat(file.fd(), &status) != 0) throw IoError(path, "ask for its size", errno);
    if (S_ISDIR(status.st_mode)) throw IoError(path, "read", EISDIR);
    if (!S_ISREG(status.st_mode)) throw IoError(path, "read by position, as it is no regular file", ESPIPE);
    file.size_ = uint64_t(status.st_size);
    return file;
}

void File::pread_exact(uint64_t offset, std::span<std::byte> out) const {
    while (!out.empty()) {
        const ssize_t n = pread(fd(), out.data(), std::min(out.size(), kMaxTransfer), off_t(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw IoError(path_, fmt::format("read {} bytes at {}", out.size(), offset), errno);
        if (n == 0)
            throw IoError(path_, fmt::format("read {} bytes at {}, where it ends", out.size(), offset), ENODATA);
        offset += uint64_t(n);
        out = out.subspan(size_t(n));
    }
}

bool File::is_same_file(const std::string& path) const {
    struct stat mine = {}, other = {};
    if (fstat(fd(), &mine) != 0) throw IoError(path_, "ask for its identity", errno);
    if (stat(path.c_str(), &other) != 0) return false;
    return mine.st_dev == other.st_dev && mine.st_ino == other.st_ino;
}

MappedFile::MappedFile(const File& file) : size_(size_t(file.size())) {
    if (size_ == 0) return;  // an empty mapping is an error to the system
    void* mapped = mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.fd(), 0);
    if (mapped == MAP_FAILED) throw IoError(file.path(), "map", errno);
    data_ = static_cast<const std::byte*>(mapped);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

MappedFile::~MappedFile() {
    if (data_) munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::advise(uint64_t offset, uint64_t length, Advice advice) const {
    if (offset >= size_ || length == 0) return;
    const int flag = advice == Advice::Sequential ? MADV_SEQUENTIAL
                     : advice == Advice::Random   ? MADV_RANDOM
                     : advice == Advice::WillNeed ? MADV_WILLNEED
                                                  : MADV_NORMAL;
    const uint64_t first = offset / page_size() * page_size();
    const uint64_t last = length < size_ - offset ? offset + length : size_;
    madvise(const_cast<std::byte*>(data_) + first, size_t(last - first), flag);
}

void MappedFile::release(uint64_t offset, uint64_t length) const {
    if (offset >= size_) return;
    const bool to_the_end = length >= size_ - offset;
    const uint64_t first = (offset + page_size() - 1) / page_size() * page_size();
    const uint64_t last = to_the_end ? size_ : (offset + length) / page_size() * page_size();
    if (first < last) madvise(const_cast<std::byte*>(data_) + first, size_t(last - first), MADV_DONTNEED);
}

}  // namespace minfer
