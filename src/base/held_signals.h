// Moments in which a signal must not end the process.
#pragma once

#include <csignal>

namespace minfer {

// What others send to end a program; each ends it unless it says otherwise.
inline constexpr int kEndingSignals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

// While it lives, these signals wait for the calling thread, and threads that it starts never take them. The threads of
// a ThreadPool are started so, and with them out of the way the main thread can make the whole process wait.
class HeldSignals {
  public:
    HeldSignals();
    ~HeldSignals();  // what came in the meantime takes effect here
    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;

  private:
    sigset_t before_;
};

}  // namespace minfer
