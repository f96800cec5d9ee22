// Files written so that they are whole or absent. Every failure is an IoError that names the path. They are for the
// main thread to make and publish (base/temporary_path.h says why); any thread may fill them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/file.h"
#include "base/temporary_path.h"

namespace minfer {

// A file that appears at its path whole, or not at all. It is written under no name where the file system can do that
// (so even a killed process leaves nothing), else under a temporary name beside its destination, which goes when a
// signal ends the process.
class AtomicFile {
  public:
    enum class Unfinished { Nameless, Named };  // what to be until published; Nameless falls back to Named

    // Throws IoError where the folder cannot be written to, or `path` exists and is no regular file. A symbolic link
    // stays, and the file that it points to is the one that appears or is replaced; a file that is replaced leaves its
    // permissions to the new one.
    explicit AtomicFile(const std::string& path, Unfinished unfinished = Unfinished::Nameless);
    AtomicFile(AtomicFile&& other) noexcept = default;
    AtomicFile& operator=(AtomicFile&&) = delete;
    ~AtomicFile() = default;  // without commit: what was written is gone, and what was at `path` is as it was

    const std::string& path() const { return path_; }
    uint64_t position() const { return position_; }  // bytes that write() and reserve() have appended

    void write(std::span<const std::byte> bytes);  // appends
    void write_zeros(uint64_t count);              // appends
    // Appends `count` bytes for pwrite() to fill later; gives their offset.
    uint64_t reserve(uint64_t count);
    // Writes at `offset`; position() stays. Several threads may call it at once.
    void pwrite(uint64_t offset, std::span<const std::byte> bytes);

    // Flushes the bytes to the disk. After it, publish() moves nothing but a name.
    void flush();
    // Gives the file its name, replacing what was there.
    void publish();
    // The same for files that belong together, the first of them last. Signals wait until all have their names, and
    // what can fail is done before the first has its own.
    static void publish_together(std::span<AtomicFile> files);
    // Flushes the folder, and so the name, to the disk.
    void flush_folder();
    void commit() {
        flush();
        publish();
        flush_folder();
    }

  private:
    void create(Unfinished unfinished);
    void take_mode(uint32_t mode);
    bool link_to(const std::string& name) const;
    void name_temporarily();

    std::string path_, folder_;
    FileDescriptor fd_;
    std::unique_ptr<TemporaryPath> temporary_;  // null while the file has no name
    uint64_t position_ = 0;
    uint64_t dirty_ = 0;  // bytes written since the system was last asked to start on them; atomic
};

}  // namespace minfer
