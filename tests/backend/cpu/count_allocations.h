// Replaces the program's operators new by ones that count.
#pragma once

#include <cstddef>

namespace minfer::cpu::test {

size_t n_allocations();  // since the program started, of all threads

}  // namespace minfer::cpu::test
