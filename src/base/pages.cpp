#include "base/pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace minfer {

// What is mapped in front of and after the aligned bytes is never touched; AddressSanitizer sees to that.
Pages::Pages(size_t bytes, PageSize size) : size_(bytes) {
    if (bytes == 0) return;
    if (bytes > SIZE_MAX - kHugePage) throw std::bad_alloc();
    mapped_ = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped_ == MAP_FAILED) {
        mapped_ = nullptr;
        throw std::bad_alloc();
    }
    const size_t skip = (kHugePage - reinterpret_cast<uintptr_t>(mapped_) % kHugePage) % kHugePage;
    data_ = static_cast<std::byte*>(mapped_) + skip;
#if defined(__SANITIZE_ADDRESS__)
    ASAN_POISON_MEMORY_REGION(mapped_, skip);
    ASAN_POISON_MEMORY_REGION(data_ + bytes, kHugePage - skip);
#endif
#if defined(MADV_HUGEPAGE)
    // A hint: without it, pages of the other size serve as well.
    madvise(data_, bytes, size == PageSize::Huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
}

Pages::~Pages() {
    if (!mapped_) return;
#if defined(__SANITIZE_ADDRESS__)
    ASAN_UNPOISON_MEMORY_REGION(mapped_, size_ + kHugePage);  // whoever gets these addresses next
#endif
    munmap(mapped_, size_ + kHugePage);
}

}  // namespace minfer
