// Files and folders that must not outlive the process that made them.
#pragma once

#include <string>

namespace minfer {

// Owns a path: at the end of its life, and when a signal ends the process before, the file is removed, or the folder if
// nothing is in it. SIGKILL alone leaves it. Make it in the thread that takes signals, the main one, and while they are
// held (base/held_signals.h) from before the path exists.
class TemporaryPath {
  public:
    enum class Kind { File, Folder };

    TemporaryPath(std::string path, Kind kind);
    ~TemporaryPath();
    TemporaryPath(const TemporaryPath&) = delete;
    TemporaryPath& operator=(const TemporaryPath&) = delete;

    const std::string& path() const { return path_; }
    void keep() { kept_ = true; }  // the path is another's now, or is there no more

  private:
    static void remove_all_and_end(int signal);
    void remove() const;

    std::string path_;
    Kind kind_;
    bool kept_ = false;
    TemporaryPath* older_ = nullptr;

    static TemporaryPath* newest_;
};

}  // namespace minfer
