#include "count_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<size_t> count = 0;

void* counted(void* p) {
    ++count;
    if (!p) throw std::bad_alloc();
    return p;
}

}  // namespace

// A file of their own: where GCC can inline one of a pair it takes the other for a mismatch.
void* operator new(size_t size) { return counted(std::malloc(size != 0 ? size : 1)); }
void* operator new(size_t size, std::align_val_t alignment) {
    return counted(std::aligned_alloc(size_t(alignment), (size + size_t(alignment) - 1) & ~(size_t(alignment) - 1)));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }

namespace minfer::cpu::test {

size_t n_allocations() { return count; }

}  // namespace minfer::cpu::test
