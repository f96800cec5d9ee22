#include "base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <random>
#include <utility>

#include "base/error.h"
#include "base/held_signals.h"

namespace minfer {
namespace {

namespace fs = std::filesystem;

// So many bytes are written before the system is asked to take them to the disk: enough for long transfers, and little
// to wait for in flush().
constexpr uint64_t kWriteBackBytes = uint64_t(8) << 20;

// As short for a long destination as for any: a name with something added may be too long to be one.
std::string temporary_name(const std::string& folder) {
    std::random_device device;
    return fmt::format("{}/minfer-{:08x}{:08x}.tmp", folder, device(), device());
}

// The path with its own symbolic links followed, to a file that need not be there yet, so that a new file replaces the
// file and not the link.
std::string link_target(const std::string& path) {
    constexpr int kMaxLinks = 40;  // as many as the system follows
    fs::path target = path;
    for (int i = 0; i < kMaxLinks; ++i) {
        std::error_code error;
        const fs::path next = fs::read_symlink(target, error);
        if (error) return target.string();
        target = target.parent_path() / next;  // which is `next` where that is absolute
    }
    throw IoError(path, "follow the symbolic link", ELOOP);
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path, Unfinished unfinished) : path_(path) {
    const std::string destination = link_target(path);
    if (destination.empty()) throw IoError("''", "create", ENOENT);
    struct stat status = {};
    const bool replaces = stat(destination.c_str(), &status) == 0;
    if (!replaces && errno != ENOENT) throw IoError(path, "create", errno);  // a name that is too long, for one
    if (replaces && !S_ISREG(status.st_mode))
        throw S_ISDIR(status.st_mode) ? IoError(path, "replace", EISDIR)
                                      : IoError(path, "replace, as it is no regular file", EINVAL);
    const fs::path folder = fs::path(destination).parent_path();
    folder_ = folder.empty() ? std::string(".") : folder.string();
    create(unfinished);
    if (replaces) take_mode(status.st_mode);
}

void AtomicFile::create(Unfinished unfinished) {
    // A nameless file needs a file system that has them and /proc to give it a name later.
    if (unfinished == Unfinished::Nameless && access("/proc/self/fd", F_OK) == 0)
        fd_ = FileDescriptor(::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666));
    if (fd_.is_open()) return;
    const HeldSignals held;
    const std::string name = temporary_name(folder_);
    fd_ = FileDescriptor(::open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666));
    if (!fd_.is_open()) throw IoError(path_, "create", errno);
    temporary_ = std::make_unique<TemporaryPath>(name, TemporaryPath::Kind::File);
}

void AtomicFile::take_mode(uint32_t mode) {
    constexpr uint32_t kPermissions = 0777;
    struct stat mine = {};
    if (fstat(fd_.get(), &mine) != 0) throw IoError(path_, "ask for its mode", errno);
    // A file system without modes gives all files one, and is not asked for another.
    if (((mine.st_mode ^ mode) & kPermissions) != 0 && fchmod(fd_.get(), mode & kPermissions) != 0)
        throw IoError(path_, "keep the mode of", errno);
}

void AtomicFile::pwrite(uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::pwrite(fd_.get(), bytes.data(), std::min(bytes.size(), kMaxTransfer), off_t(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw IoError(path_, "write", errno);
        offset += uint64_t(n);
        bytes = bytes.subspan(size_t(n));
        // Else the system would start when flush() asks for the whole file, and the disk would rest until then. Of no
        // consequence where it fails: flush() hears of every error.
        const std::atomic_ref dirty(dirty_);
        if (dirty.fetch_add(uint64_t(n)) + uint64_t(n) < kWriteBackBytes) continue;
        dirty = 0;
        sync_file_range(fd_.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
    }
}

uint64_t AtomicFile::reserve(uint64_t count) { return std::exchange(position_, position_ + count); }

void AtomicFile::write(std::span<const std::byte> bytes) { pwrite(reserve(bytes.size()), bytes); }

void AtomicFile::write_zeros(uint64_t count) {
    static constexpr std::array<std::byte, 1 << 16> kZeros = {};  // padding can be gigabytes
    while (count > 0) {
        const auto n = size_t(std::min<uint64_t>(count, kZeros.size()));
        write(std::span(kZeros).first(n));
        count -= n;
    }
}

void AtomicFile::flush() {
    if (fsync(fd_.get()) != 0) throw IoError(path_, "flush", errno);
}

bool AtomicFile::link_to(const std::string& name) const {
    const std::string self = fmt::format("/proc/self/fd/{}", fd_.get());
    return linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

void AtomicFile::name_temporarily() {
    const HeldSignals held;
    const std::string name = temporary_name(folder_);
    if (!link_to(name)) throw IoError(path_, "name", errno);
    temporary_ = std::make_unique<TemporaryPath>(name, TemporaryPath::Kind::File);
}

void AtomicFile::publish() {
    const HeldSignals held;
    const std::string destination = link_target(path_);
    if (!temporary_) {
        if (link_to(destination)) return fd_.close();
        // A link cannot replace a file and a rename can, so the file passes through a temporary name.
        if (errno != EEXIST) throw IoError(path_, "name", errno);
        name_temporarily();
    }
    if (rename(temporary_->path().c_str(), destination.c_str()) != 0) throw IoError(path_, "rename onto", errno);
    temporary_->keep();
    fd_.close();
}

void AtomicFile::publish_together(std::span<AtomicFile> files) {
    const HeldSignals held;
    for (AtomicFile& file : files)
        if (!file.temporary_ && access(link_target(file.path_).c_str(), F_OK) == 0) file.name_temporarily();
    for (size_t i = files.size(); i-- > 0;) files[i].publish();
}

void AtomicFile::flush_folder() {
    const FileDescriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // A folder that cannot be opened or flushed, as on some file systems, costs no bytes: the rename is in order with
    // them.
    if (folder.is_open() && fsync(folder.get()) != 0 && errno != EINVAL)
        throw IoError(path_, "flush the folder of", errno);
}

}  // namespace minfer
