#include "base/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "base/error.h"

namespace minfer {
namespace {

template <typename Context>
EVP_MD_CTX* evp(const Context& context) {
    return static_cast<EVP_MD_CTX*>(context.get());
}

void require(int status) {
    if (status != 1) throw Error("OpenSSL cannot compute SHA-256");
}

}  // namespace

void Sha256::Free::operator()(void* context) const { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context)); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
    require(context_ ? 1 : 0);
    require(EVP_DigestInit_ex(evp(context_), EVP_sha256(), nullptr));
}

void Sha256::update(std::span<const std::byte> bytes) {
    require(EVP_DigestUpdate(evp(context_), bytes.data(), bytes.size()));
}

std::string Sha256::hex_digest() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned size = 0;
    require(EVP_DigestFinal_ex(evp(context_), digest.data(), &size));
    require(EVP_DigestInit_ex(evp(context_), EVP_sha256(), nullptr));
    std::string hex;
    for (unsigned i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
    return hex;
}

}  // namespace minfer
