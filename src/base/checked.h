// Arithmetic on numbers that a file gave. A count from a file is held against what is left of the file before anything
// is multiplied or allocated: budgets, not products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace minfer {

// The sum or product, or nothing where it does not fit 64 bits.
constexpr std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) {
    uint64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
    return sum;
}
constexpr std::optional<uint64_t> checked_mul(uint64_t a, uint64_t b) {
    uint64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
    return product;
}

// `value` rounded up to a multiple of `alignment`, a power of two; nothing where that does not fit 64 bits.
constexpr std::optional<uint64_t> checked_align_up(uint64_t value, uint64_t alignment) {
    const auto raised = checked_add(value, alignment - 1);
    if (!raised) return std::nullopt;
    return *raised & ~(alignment - 1);
}

// The bytes that are left of something. Questions are put by division, so no count can overflow them.
class Budget {
  public:
    explicit constexpr Budget(uint64_t bytes) : left_(bytes) {}

    constexpr uint64_t left() const { return left_; }
    // Whether `count` items of `size` bytes each are left.
    constexpr bool covers(uint64_t count, uint64_t size = 1) const { return size == 0 || count <= left_ / size; }
    // Takes them, or takes nothing and gives false.
    constexpr bool spend(uint64_t count, uint64_t size = 1) {
        if (!covers(count, size)) return false;
        left_ -= count * size;
        return true;
    }

  private:
    uint64_t left_;
};

// Reads little-endian numbers and runs of bytes from memory that it borrows. Past the end every answer is nothing, and
// the position stays.
class ByteCursor {
  public:
    explicit ByteCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

    size_t position() const { return position_; }
    size_t left() const { return bytes_.size() - position_; }

    std::optional<std::span<const std::byte>> take(uint64_t count) {
        if (count > left()) return std::nullopt;
        const auto taken = bytes_.subspan(position_, size_t(count));
        position_ += size_t(count);
        return taken;
    }

    template <typename T>
        requires std::is_trivially_copyable_v<T>
    std::optional<T> read() {
        const auto taken = take(sizeof(T));
        if (!taken) return std::nullopt;
        T value;
        std::memcpy(&value, taken->data(), sizeof(T));
        return value;
    }

  private:
    std::span<const std::byte> bytes_;
    size_t position_ = 0;
};

}  // namespace minfer
