// Large blocks of memory straight from the system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace minfer {

// Huge pages, where the system has them, need a five hundredth of the address translations: for what is read or written
// in streams. Small ones are for what is touched here and there: a page that nobody touches takes no memory.
enum class PageSize : uint8_t { Huge, Small };

// Zeroed bytes.
class Pages {
  public:
    static constexpr size_t kHugePage = size_t(2) << 20;

    Pages() = default;
    // Starts at a multiple of kHugePage. Throws std::bad_alloc.
    explicit Pages(size_t bytes, PageSize size = PageSize::Huge);
    Pages(Pages&& other) noexcept
        : mapped_(std::exchange(other.mapped_, nullptr)), data_(other.data_), size_(std::exchange(other.size_, 0)) {}
    Pages& operator=(Pages&& other) noexcept {
        std::swap(mapped_, other.mapped_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~Pages();

    std::byte* data() const { return data_; }
    size_t size() const { return size_; }

  private:
    void* mapped_ = nullptr;
    std::byte* data_ = nullptr;
    size_t size_ = 0;
};

}  // namespace minfer
