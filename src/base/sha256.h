// SHA-256 of bytes that come in pieces (FIPS 180-4), by OpenSSL.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace minfer {

class Sha256 {
  public:
    Sha256();

    void update(std::span<const std::byte> bytes);
    // The digest of all pieces, 64 lower-case hexadecimal digits. The object starts afresh after it.
    std::string hex_digest();

  private:
    struct Free {
        void operator()(void* context) const;
    };
    std::unique_ptr<void, Free> context_;
};

}  // namespace minfer
