// The examples of FIPS 180-4's publisher, and that pieces make no difference.
#include "base/sha256.h"

#include <gtest/gtest.h>

#include <string_view>

namespace minfer {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(Sha256, PublishedDigests) {
    Sha256 hash;
    EXPECT_EQ(hash.hex_digest(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    hash.update(bytes("abc"));
    EXPECT_EQ(hash.hex_digest(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    hash.update(bytes("abcdbcdecdefdefgefghfghi"));
    hash.update(bytes(""));
    hash.update(bytes("ghijhijkijkljklmklmnlmnomnopnopq"));
    EXPECT_EQ(hash.hex_digest(), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

}  // namespace
}  // namespace minfer
