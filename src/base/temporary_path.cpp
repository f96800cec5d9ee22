#include "base/temporary_path.h"

#include <unistd.h>

#include <csignal>
#include <utility>

#include "base/held_signals.h"

namespace minfer {

// A signal handler can reach nothing but a global. The list changes only while signals are held, so the handler meets
// it whole.
constinit TemporaryPath* TemporaryPath::newest_ = nullptr;

// Calls nothing that a handler may not call. The newest goes first: a file before the folder that was made for it.
void TemporaryPath::remove_all_and_end(int signal) {
    for (const TemporaryPath* path = newest_; path; path = path->older_) path->remove();
    std::raise(signal);  // SA_RESETHAND: it ends the process when the handler returns
}

void TemporaryPath::remove() const {
    if (kept_) return;
    if (kind_ == Kind::File)
        unlink(path_.c_str());
    else
        rmdir(path_.c_str());
}

TemporaryPath::TemporaryPath(std::string path, Kind kind) : path_(std::move(path)), kind_(kind) {
    const HeldSignals held;
    if (!newest_) {
        struct sigaction removing = {}, present = {};
        removing.sa_handler = remove_all_and_end;
        removing.sa_flags = int(SA_RESETHAND);
        // One that is ignored, or does something else, does not end the process.
        for (const int signal : kEndingSignals)
            if (sigaction(signal, nullptr, &present) == 0 && present.sa_handler == SIG_DFL)
                sigaction(signal, &removing, nullptr);
    }
    older_ = std::exchange(newest_, this);
}

TemporaryPath::~TemporaryPath() {
    const HeldSignals held;
    remove();
    TemporaryPath** link = &newest_;
    while (*link != this) link = &(*link)->older_;
    *link = older_;
    if (newest_) return;
    struct sigaction present = {};
    for (const int signal : kEndingSignals)
        if (sigaction(signal, nullptr, &present) == 0 && present.sa_handler == remove_all_and_end)
            std::signal(signal, SIG_DFL);
}

}  // namespace minfer
