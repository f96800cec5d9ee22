// Files that are wrong in one way each, and what the reader says of them: its own words for each fault, naming the key
// or tensor, what was found and the bound.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "base/error.h"
#include "gguf/bytes.h"
#include "gguf/reader.h"
#include "gguf/writer.h"
#include "support/support.h"

namespace minfer::gguf {
namespace {

using test::Bytes;
using ::testing::HasSubstr;

// What the reader says of the file, or "" where it takes it.
std::string verdict(std::span<const std::byte> bytes) {
    try {
        parse_header(bytes, bytes.size(), "bad.gguf");
        return "";
    } catch (const FormatError& e) {
        return e.what();
    }
}
std::string verdict(const Bytes& file) { return verdict(file.bytes()); }

// Two tensors of 8 and 32 f32 values: 32 and 128 bytes.
Bytes two_tensors(uint64_t first_offset, uint64_t second_offset) {
    Bytes b;
    return b.start(2, 0).tensor("a", {8}, 0, first_offset).tensor("b", {32}, 0, second_offset).pad(32).zeros(160);
}

Bytes one_tensor(std::string_view name, const std::vector<int64_t>& ne, uint32_t type = 0) {
    Bytes b;
    return b.start(1, 0).tensor(name, ne, type, 0).pad(32).zeros(1024);
}

TEST(Hostile, TheBuilderMakesFilesThatAreRead) {
    EXPECT_EQ(verdict(two_tensors(0, 32)), "");
    EXPECT_EQ(verdict(one_tensor(std::string(63, 'n'), {256}, 12)), "");
    EXPECT_EQ(verdict(Bytes().start(0, 0)), "");
}

TEST(Hostile, MagicAndVersion) {
    EXPECT_EQ(verdict(Bytes().raw("ggml").u32(1)), "bad.gguf: magic: found 'ggml', expected 'GGUF'");
    EXPECT_EQ(verdict(Bytes().raw("G\x01UF")), "bad.gguf: magic: found 'G\\x01UF', expected 'GGUF'");
    EXPECT_EQ(verdict(Bytes().raw("GG")), "bad.gguf: magic: found 2 bytes left at 0, expected 4");
    EXPECT_EQ(verdict(Bytes()), "bad.gguf: magic: found 0 bytes left at 0, expected 4");
    for (const uint32_t old : {1u, 2u})
        EXPECT_EQ(
            verdict(Bytes().raw("GGUF").u32(old).zeros(16)),
            fmt::format("bad.gguf: version: found {}, expected 3, the only one that minfer reads; a newer copy of "
                        "the model has it",
                        old));
    EXPECT_THAT(verdict(Bytes().raw("GGUF").u32(0).zeros(16)), HasSubstr("version: found 0, expected 3"));
    EXPECT_THAT(verdict(Bytes().raw("GGUF").u32(4).zeros(16)), HasSubstr("version: found 4, expected 3"));
    EXPECT_THAT(verdict(Bytes().raw("GGUF").u32(0x03000000).zeros(16)),
                HasSubstr("version: found 0x3000000 (a big-endian file), expected 3, little-endian"));
    EXPECT_THAT(verdict(Bytes().raw("FUGG").u32(3)), HasSubstr("big-endian"));
}

TEST(Hostile, CountsBeyondTheFile) {
    EXPECT_EQ(verdict(Bytes().start(0, 1'000'000)),
              "bad.gguf: number of metadata keys: found 1000000, expected 0 to 0, for the 0 bytes left");
    EXPECT_THAT(verdict(Bytes().start(-1, 0)), HasSubstr("number of tensors: found -1, expected 0 to 0"));
    EXPECT_THAT(verdict(Bytes().start(0, -7)), HasSubstr("number of metadata keys: found -7"));
    EXPECT_THAT(verdict(Bytes().start(INT64_MAX, 0)), HasSubstr("number of tensors: found 9223372036854775807"));
    EXPECT_THAT(verdict(Bytes().start(4, 0).zeros(99)), HasSubstr("number of tensors: found 4, expected 0 to 3"));
}

TEST(Hostile, Keys) {
    EXPECT_THAT(verdict(Bytes().start(0, 1).u64(UINT64_MAX).zeros(20)),
                HasSubstr("key 0: found 20 bytes left at 32, expected 18446744073709551615"));
    EXPECT_THAT(verdict(Bytes().start(0, 1).key("", 0).u8(1).zeros(1)), HasSubstr("key 0: found an empty key"));
    EXPECT_THAT(verdict(Bytes().start(0, 2).key_u32("twice", 1).key_u32("twice", 2)),
                HasSubstr("key 1: found 'twice' a second time"));
    EXPECT_THAT(verdict(Bytes().start(0, 1).key("k", 13).u32(0)), HasSubstr("key 'k', type: found 13, expected"));
    EXPECT_THAT(verdict(Bytes().start(0, 1).key("k", 7).u8(2)),
                HasSubstr("key 'k': found a bool of 2, expected 0 or 1"));
    EXPECT_THAT(verdict(Bytes().start(0, 1).key("k", 8).u64(5).raw("four")),
                HasSubstr("key 'k': found 4 bytes left at 45, expected 5"));
    EXPECT_THAT(verdict(Bytes().start(0, 1).key("k", 12).u32(0)),
                HasSubstr("key 'k': found 4 bytes left at 37, expected 8"));
}

TEST(Hostile, Arrays) {
    EXPECT_THAT(verdict(Bytes().start(0, 1).key("k", 9).u32(9).u64(1)),
                HasSubstr("key 'k': found an array of arrays, expected an array of scalars or strings"));
    EXPECT_THAT(verdict(Bytes().start(0, 1).key("k", 9).u32(99).u64(1)), HasSubstr("key 'k', item type: found 99"));
    EXPECT_THAT(verdict(Bytes().start(0, 1).key("k", 9).u32(4).u64(3).zeros(11)),
                HasSubstr("key 'k', count: found 3, expected at most 2, for the 11 bytes left"));
    EXPECT_THAT(verdict(Bytes().start(0, 1).key("k", 9).u32(10).u64((uint64_t(1) << 61) + 1).zeros(8)),
                HasSubstr("key 'k', count: found 2305843009213693953, expected at most 1"));
    EXPECT_THAT(verdict(Bytes().start(0, 1).key("k", 9).u32(8).u64(3).zeros(23)),
                HasSubstr("key 'k', count: found 3, expected at most 2"));
    EXPECT_THAT(verdict(Bytes().start(0, 1).key("k", 9).u32(8).u64(2).string("ab").u64(3).raw("cd")),
                HasSubstr("key 'k', item 1: found 2 bytes left"));
    EXPECT_THAT(verdict(Bytes().start(0, 1).key("k", 9).u32(7).u64(3).u8(1).u8(0).u8(255)),
                HasSubstr("key 'k': found a bool of 255"));
}

TEST(Hostile, Alignment) {
    const auto aligned = [](uint32_t alignment) { return Bytes().start(0, 1).key_u32("general.alignment", alignment); };
    EXPECT_EQ(verdict(aligned(1)), "");
    EXPECT_EQ(verdict(aligned(0x80000000)), "");  // without tensors nothing is aligned
    EXPECT_THAT(verdict(aligned(0)), HasSubstr("key 'general.alignment': found 0, expected a power of two"));
    EXPECT_THAT(verdict(aligned(48)), HasSubstr("key 'general.alignment': found 48, expected a power of two"));
    EXPECT_THAT(verdict(Bytes().start(0, 1).key("general.alignment", 10).u64(32)),
                HasSubstr("key 'general.alignment': found u64 32, expected a u32"));
    EXPECT_THAT(verdict(Bytes().start(1, 1).key_u32("general.alignment", 4096).tensor("t", {1}, 0, 0).zeros(64)),
                HasSubstr("tensor data: found an end of file at 154, expected their start at 4096"));
}

TEST(Hostile, TensorNames) {
    EXPECT_THAT(verdict(one_tensor(std::string(64, 'n'), {1})),
                HasSubstr("tensor 0: found a name of 64 bytes, expected 1 to 63"));
    EXPECT_THAT(verdict(one_tensor("", {1})), HasSubstr("tensor 0: found a name of 0 bytes"));
    EXPECT_THAT(verdict(one_tensor(std::string_view("a\0b", 3), {1})),
                HasSubstr("tensor 'a\\x00b': found a NUL byte in its name"));
    EXPECT_THAT(verdict(Bytes().start(1, 0).u64(UINT64_MAX).zeros(99)),
                HasSubstr("tensor 0: found a name of 18446744073709551615 bytes"));
    EXPECT_THAT(verdict(Bytes().start(2, 0).tensor("t", {8}, 0, 0).tensor("t", {8}, 0, 32).pad(32).zeros(64)),
                HasSubstr("tensor 1: found name 't' a second time"));
}

TEST(Hostile, Shapes) {
    EXPECT_THAT(verdict(one_tensor("t", {})), HasSubstr("tensor 't': found 0 dimensions, expected 1 to 4"));
    EXPECT_THAT(verdict(one_tensor("t", {1, 1, 1, 1, 1})), HasSubstr("tensor 't': found 5 dimensions"));
    EXPECT_THAT(verdict(one_tensor("t", {4, 0})), HasSubstr("tensor 't', dimension 1: found 0, expected at least 1"));
    EXPECT_THAT(verdict(one_tensor("t", {-4})), HasSubstr("tensor 't', dimension 0: found -4"));
    EXPECT_THAT(verdict(one_tensor("t", {int64_t(1) << 32, int64_t(1) << 31})), HasSubstr("expected fewer than 2^63"));
    EXPECT_THAT(verdict(one_tensor("t", {INT64_MAX, 2, 1, 1})), HasSubstr("9223372036854775807 x 2 x 1 x 1 values"));
    EXPECT_THAT(verdict(one_tensor("t", {INT64_MAX}, 28)), HasSubstr("expected fewer than 2^64 bytes"));
    EXPECT_THAT(verdict(one_tensor("t", {33}, 2)),
                HasSubstr("tensor 't': found rows of 33 values, expected a multiple of 32, the block of q4_0"));
}

TEST(Hostile, Types) {
    EXPECT_THAT(verdict(one_tensor("t", {32}, 43)), HasSubstr("tensor 't': found type 43, expected a type of ggml"));
    EXPECT_THAT(verdict(one_tensor("t", {32}, 31)), HasSubstr("type 31 (Q4_0_4_4, removed from GGUF)"));
    EXPECT_THAT(verdict(one_tensor("t", {32}, UINT32_MAX)), HasSubstr("type 4294967295"));
}

TEST(Hostile, Offsets) {
    EXPECT_THAT(verdict(two_tensors(0, 33)), HasSubstr("tensor 'b': found offset 33, expected a multiple of 32"));
    EXPECT_THAT(verdict(two_tensors(0, 0)),
                HasSubstr("tensor 'b': found offset 0, which overlaps after 'a', expected 32"));
    EXPECT_THAT(verdict(Bytes().start(2, 0).tensor("a", {8}, 0, 0).tensor("b", {8}, 0, 64).pad(32).zeros(256)),
                HasSubstr("tensor 'b': found offset 64, which leaves a gap after 'a', expected 32"));
    EXPECT_THAT(verdict(two_tensors(32, 0)),
                HasSubstr("tensor 'a': found offset 32, which leaves a gap after the start"));
    EXPECT_THAT(verdict(two_tensors(0, 64)),
                HasSubstr("tensor 'b': found 128 bytes at offset 64, expected an end within the 160 bytes"));
    EXPECT_THAT(verdict(two_tensors(0, UINT64_MAX - 31)), HasSubstr("expected an end within the 160 bytes"));
    EXPECT_THAT(verdict(one_tensor("t", {257})), HasSubstr("tensor 't': found 1028 bytes at offset 0"));
}

TEST(Hostile, TheLastPaddingMayBeMissing) {
    EXPECT_EQ(verdict(Bytes().start(1, 0).tensor("t", {3}, 0, 0).pad(32).zeros(12)), "");
    EXPECT_NE(verdict(Bytes().start(1, 0).tensor("t", {3}, 0, 0).pad(32).zeros(11)), "");
}

// A header with an entry of every kind, small enough to be cut everywhere and mutated often.
Bytes every_kind() {
    Bytes b;
    b.start(3, 15);
    b.key("u8", 0).number(uint8_t(200)).key("i8", 1).number(int8_t(-7)).key("u16", 2).number(uint16_t(65535));
    b.key("i16", 3).number(int16_t(-300)).key("u32", 4).u32(1u << 31).key("i32", 5).number(int32_t(-70000));
    b.key("f32", 6).number(1.5f).key("bool", 7).u8(1).key("u64", 10).u64(uint64_t(1) << 40);
    b.key("i64", 11).number(int64_t(-1) << 40).key("f64", 12).number(0.1);
    b.key_string("string", "words").key("numbers", 9).u32(5).u64(3).zeros(12);
    b.key("strings", 9).u32(8).u64(2).string("a").string("").key_u32("general.alignment", 64);
    b.tensor("first", {32, 2}, 2, 0).tensor("second", {3, 1, 2}, 0, 64).tensor("third", {256}, 14, 128);
    return b.pad(64).zeros(64 + 64 + 256);
}

TEST(Hostile, CutAtEveryByte) {
    const Bytes whole = every_kind();
    ASSERT_EQ(verdict(whole), "");
    const size_t enough = whole.size() - (256 - 210);  // without the last padding
    for (size_t n = 0; n < enough; ++n) {
        const std::string said = verdict(whole.bytes().first(n));
        ASSERT_THAT(said, HasSubstr("bad.gguf: ")) << n;
        ASSERT_THAT(said, HasSubstr(", expected ")) << n;
    }
    EXPECT_EQ(verdict(whole.bytes().first(enough)), "");
}

// The header of a real model, cut at every byte where the parse is short, and at many elsewhere: a parse up to a byte
// takes time in proportion to the vocabulary before it, so the vocabulary is cut to a few words for the dense part.
TEST(Hostile, ARealHeaderCutEverywhere) {
    const auto path = test::models_dir() / "smollm2-135m-instruct-q4_1.gguf";
    MINFER_SKIP_WITHOUT(path);
    const File file = File::open(path.string());
    const Header header = read_header(file);
    std::vector<std::byte> bytes(size_t(header.data_offset));
    file.pread_exact(0, bytes);
    const auto cut = [&](std::span<const std::byte> whole, size_t n) {
        EXPECT_NE(verdict(whole.first(n)), "") << n;
        // The same beginning in a file of full length, as a reader finds it that was handed too few bytes.
        EXPECT_THROW(parse_header(whole.first(n), file.size(), "bad.gguf"), FormatError) << n;
    };
    EXPECT_NO_THROW(parse_header(bytes, file.size(), "bad.gguf"));
    for (size_t n = 0; n < bytes.size(); n += 4999) cut(bytes, n);
    for (size_t n = bytes.size() - 64; n < bytes.size() - 32; ++n) cut(bytes, n);

    std::vector<KeyValue> metadata = header.metadata;
    for (KeyValue& entry : metadata) {
        if (!entry.value.is_array()) continue;
        if (auto words = entry.value.as<std::vector<std::string_view>>()) {
            words->resize(std::min<size_t>(words->size(), 12));
            entry.value = Value::strings(std::span<const std::string_view>(*words));
        } else if (auto numbers = entry.value.as<std::vector<int32_t>>()) {
            numbers->resize(12);
            entry.value = Value::array(std::span<const int32_t>(*numbers));
        }
    }
    std::vector<TensorSpec> tensors;
    for (const TensorInfo& t : header.tensors) tensors.push_back(spec_of(t));
    std::vector<std::byte> small;
    encode_header(metadata, tensors, header.alignment,
                  [&](std::span<const std::byte> piece) { small.insert(small.end(), piece.begin(), piece.end()); });
    small.resize((small.size() + header.alignment - 1) / header.alignment * header.alignment);
    ASSERT_LT(small.size(), 40'000u);
    EXPECT_NO_THROW(parse_header(small, file.size(), "bad.gguf"));
    for (size_t n = 0; n + header.alignment <= small.size(); ++n) cut(small, n);
}

// Whatever the bytes, the reader gives an index that stays within the file, or a FormatError; nothing else, and no
// memory beyond the file's own size (an allocation of a claimed size would end the test).
TEST(Hostile, RandomMutations) {
    const Bytes whole = every_kind();
    std::mt19937_64 random(20261130);
    size_t taken = 0;
    for (int round = 0; round < 60'000; ++round) {
        std::string text = whole.text();
        const size_t n_changes = 1 + random() % 3;
        for (size_t c = 0; c < n_changes; ++c) {
            const size_t at = random() % text.size();
            switch (random() % 4) {
                case 0:
                    text[at] = char(random());
                    break;
                case 1:
                    text[at] = char(text[at] ^ (1 << random() % 8));
                    break;
                case 2:
                    text.insert(at, 1 + random() % 9, char(random()));
                    break;
                default:
                    text.erase(at, 1 + random() % 9);
                    break;
            }
            if (text.empty()) break;
        }
        try {
            const Header header = parse_header(std::as_bytes(std::span(text)), text.size(), "bad.gguf");
            ++taken;
            for (const TensorInfo& t : header.tensors) ASSERT_LE(t.offset + t.nbytes, text.size());
        } catch (const FormatError&) {
        }
    }
    EXPECT_GT(taken, 1000u);
    EXPECT_LT(taken, 50'000u);
}

}  // namespace
}  // namespace minfer::gguf
