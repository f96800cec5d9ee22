// GGUF files spelled out byte by byte, for what the writer would refuse to write. Knows nothing of src/gguf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace minfer::test {

class Bytes {
  public:
    template <typename T>
    Bytes& number(T value) {
        char raw[sizeof(T)];
        std::memcpy(raw, &value, sizeof(T));
        text_.append(raw, sizeof(T));
        return *this;
    }
    Bytes& u8(uint8_t v) { return number(v); }
    Bytes& u32(uint32_t v) { return number(v); }
    Bytes& u64(uint64_t v) { return number(v); }
    Bytes& i64(int64_t v) { return number(v); }
    Bytes& raw(std::string_view v) {
        text_ += v;
        return *this;
    }
    Bytes& string(std::string_view v) { return u64(v.size()).raw(v); }
    Bytes& zeros(size_t n) {
        text_.append(n, '\0');
        return *this;
    }
    Bytes& pad(size_t alignment) { return zeros((alignment - text_.size() % alignment) % alignment); }

    // The header's first 24 bytes.
    Bytes& start(int64_t n_tensors, int64_t n_kv) { return raw("GGUF").u32(3).i64(n_tensors).i64(n_kv); }
    Bytes& key(std::string_view name, uint32_t type) { return string(name).u32(type); }
    Bytes& key_u32(std::string_view name, uint32_t v) { return key(name, 4).u32(v); }
    Bytes& key_string(std::string_view name, std::string_view v) { return key(name, 8).string(v); }
    Bytes& tensor(std::string_view name, const std::vector<int64_t>& ne, uint32_t type, uint64_t offset) {
        string(name).u32(uint32_t(ne.size()));
        for (const int64_t n : ne) i64(n);
        return u32(type).u64(offset);
    }

    const std::string& text() const { return text_; }
    size_t size() const { return text_.size(); }
    std::span<const std::byte> bytes() const { return std::as_bytes(std::span(text_)); }

  private:
    std::string text_;
};

}  // namespace minfer::test
