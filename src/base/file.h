// Files read by position, and mapped. Every failure is an IoError that names the path. What is written is an AtomicFile
// (base/atomic_file.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace minfer {

inline constexpr size_t kMaxTransfer = size_t(1) << 30;  // of a read or write; Linux moves at most 2 GiB in a call

// Makes room for `n` more open files of this process, as far as the system's hard limit goes; false where it does not.
bool allow_more_open_files(uint64_t n);

// An open file descriptor, closed at the end of its life.
class FileDescriptor {
  public:
    FileDescriptor() = default;
    explicit FileDescriptor(int fd) : fd_(fd) {}
    FileDescriptor(FileDescriptor&& other) noexcept;
    FileDescriptor& operator=(FileDescriptor&& other) noexcept;
    ~FileDescriptor();

    int get() const { return fd_; }
    bool is_open() const { return fd_ >= 0; }
    void close();

  private:
    int fd_ = -1;
};

// A regular file open for reading. Reads go by position, so threads may share one.
class File {
  public:
    // Throws IoError where the file does not open or is no regular file.
    static File open(const std::string& path);

    const std::string& path() const { return path_; }
    uint64_t size() const { return size_; }  // when it was opened
    int fd() const { return fd_.get(); }

    // Fills `out` with the bytes from `offset` on; an end of file before that is an IoError too.
    void pread_exact(uint64_t offset, std::span<std::byte> out) const;

    // Whether `path` names this very file, by whatever name. False where `path` does not exist.
    bool is_same_file(const std::string& path) const;

  private:
    File() = default;

    std::string path_;
    FileDescriptor fd_;
    uint64_t size_ = 0;
};

// A whole file mapped for reading. A disk error while its bytes are touched is a signal (SIGBUS), so tools that check
// or copy files use File instead.
class MappedFile {
  public:
    enum class Advice { Normal, Sequential, Random, WillNeed };

    MappedFile() = default;
    explicit MappedFile(const File& file);
    static MappedFile open(const std::string& path) { return MappedFile(File::open(path)); }
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    ~MappedFile();

    // Valid as long as this object; starts on a page.
    std::span<const std::byte> bytes() const { return {data_, size_}; }

    // Hints on bytes [offset, offset + length), widened to whole pages. They change no byte and their failure is no
    // error.
    void advise(uint64_t offset, uint64_t length, Advice advice) const;
    // Gives the whole pages within the range back to the system; touching them again reads the file again.
    void release(uint64_t offset, uint64_t length) const;

  private:
    const std::byte* data_ = nullptr;
    size_t size_ = 0;
};

}  // namespace minfer
