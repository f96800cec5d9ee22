// Ctrl-C that stops work in an orderly way.
#pragma once

namespace minfer::cli {

constexpr int kInterruptedStatus = 130;  // 128 + SIGINT, as shells have it

// While it lives, the first SIGINT only makes interrupted() true; a second one ends the process as without it. One at a
// time.
class Interrupt {
  public:
    Interrupt();
    ~Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    bool interrupted() const;
};

}  // namespace minfer::cli
