#include "base/pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace minfer {

// What is mapped in front of and after the aligned bytes is never touched.
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
#if defined(MADV_HUGEPAGE)
    // A hint: without it, pages of the other size serve as well.
    madvise(data_, bytes, size == PageSize::Huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
}

Pages::~Pages() {
    if (mapped_) munmap(mapped_, size_ + kHugePage);
}

}  // namespace minfer
