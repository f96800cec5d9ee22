// Ctrl-C that stops work in an orderly way.
#pragma once

namespace minfer::cli {

constexpr int kInterruptedStatus = 130;  // 128 + SIGINT, as shells have it

// While it lives, SIGINT makes interrupted() true, and system calls that wait end with EINTR. One at a time.
class Interrupt {
  public:
    enum class Again { EndsTheProcess, IsTheSame };  // what a second SIGINT does

    explicit Interrupt(Again again = Again::EndsTheProcess);
    ~Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    bool interrupted() const;
};

}  // namespace minfer::cli
