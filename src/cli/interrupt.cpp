#include "cli/interrupt.h"

#include <csignal>

namespace minfer::cli {
namespace {

// A signal handler can reach nothing but a global.
volatile std::sig_atomic_t received = 0;

extern "C" void on_interrupt(int) { received = 1; }

}  // namespace

Interrupt::Interrupt(Again again) {
    received = 0;
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    action.sa_flags = again == Again::EndsTheProcess ? SA_RESETHAND : 0;
    sigaction(SIGINT, &action, nullptr);
}

Interrupt::~Interrupt() { std::signal(SIGINT, SIG_DFL); }

bool Interrupt::interrupted() const { return received != 0; }

}  // namespace minfer::cli
