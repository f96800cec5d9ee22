// The reader against files that the `gguf` package wrote, and over files in parts.
#include "gguf/reader.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "gguf/bytes.h"
#include "gguf/split_name.h"
#include "support/support.h"

namespace minfer::gguf {
namespace {

using test::Bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T>
std::vector<T> values(std::span<const std::byte> bytes) {
    std::vector<T> out(bytes.size() / sizeof(T));
    std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
    return out;
}

std::string opening(const std::filesystem::path& path) {
    return test::what<Error>([&] { Gguf::open(path.string()); });
}

class ReaderOfOracleFiles : public ::testing::Test {
  protected:
    // The package's file, in parts of `per_part` tensors where that is not 0.
    std::string write(const std::string& name, int per_part = 0) {
        const auto path = (folder_ / name).string();
        const auto done =
            test::run({test::python().string(), (test::source_dir() / "tests/gguf/write_with_gguf_py.py").string(),
                       path, std::to_string(per_part)});
        EXPECT_EQ(done.status, 0) << done.err;
        return path;
    }

    void check_values(const Gguf& g) {
        EXPECT_EQ(g.architecture(), "oracle");
        EXPECT_EQ(g.get<uint8_t>("t.u8"), 255);
        EXPECT_EQ(g.get<int8_t>("t.i8"), -128);
        EXPECT_EQ(g.get<uint16_t>("t.u16"), 65535);
        EXPECT_EQ(g.get<int16_t>("t.i16"), -32768);
        EXPECT_EQ(g.get<uint32_t>("t.u32"), 4294967295u);
        EXPECT_EQ(g.get<int32_t>("t.i32"), INT32_MIN);
        EXPECT_EQ(g.get<float>("t.f32"), 0.1f);
        EXPECT_EQ(g.get<bool>("t.bool"), true);
        EXPECT_EQ(g.get<std::string_view>("t.string"), "zwölf Boxkämpfer 🥊");
        EXPECT_EQ(g.get<uint64_t>("t.u64"), UINT64_MAX);
        EXPECT_EQ(g.get<int64_t>("t.i64"), INT64_MIN);
        EXPECT_EQ(g.get<double>("t.f64"), 0.1);
        EXPECT_THAT(g.get<std::vector<std::string_view>>("t.strings"), ElementsAre("", "a", "bc\n", "ünï"));
        EXPECT_THAT(g.get<std::vector<int64_t>>("t.numbers"), ElementsAre(1, -2, 3));
        EXPECT_THAT(g.get<std::vector<float>>("t.reals"), ElementsAre(0.5f, -0.25f));
        EXPECT_THAT(g.get<std::vector<bool>>("t.bools"), ElementsAre(true, false, true));
        EXPECT_THAT(g.get<std::vector<uint8_t>>("t.bytes"), ElementsAre(0, 1, 2, 3, 4, 5, 6));
    }

    void check_tensors(const Gguf& g) {
        ASSERT_EQ(g.tensors().size(), 5u);
        const TensorInfo& f32 = g.tensor("f32");
        EXPECT_EQ(f32.n_dims, 3u);
        EXPECT_THAT(f32.ne, ElementsAre(4, 3, 2, 1));
        EXPECT_EQ(f32.type, TensorType::F32);
        EXPECT_EQ(f32.n_rows(), 6u);
        EXPECT_EQ(f32.row_nbytes(), 16u);
        for (size_t i = 0; i < 24; ++i) EXPECT_EQ(values<float>(g.data(f32))[i], float(i));
        EXPECT_EQ(values<uint16_t>(g.data(g.tensor("f16")))[8], 0x3c00);
        EXPECT_THAT(values<int32_t>(g.data(g.tensor("i32"))), ElementsAre(-2, -1, 0, 1, 2));
        const TensorInfo& q8 = g.tensor("q8_0");
        EXPECT_EQ(q8.type, TensorType::Q8_0);
        EXPECT_THAT(q8.ne, ElementsAre(32, 3, 1, 1));
        for (size_t i = 0; i < q8.nbytes; ++i) EXPECT_EQ(values<uint8_t>(g.data(q8))[i], i);
        EXPECT_EQ(g.tensor("one").n_dims, 2u);
        for (const TensorInfo& t : g.tensors()) {
            std::vector<std::byte> copy(size_t(t.nbytes));
            g.read(t, 0, copy);
            EXPECT_TRUE(std::ranges::equal(copy, g.data(t))) << t.name;
            EXPECT_EQ(reinterpret_cast<uintptr_t>(g.data(t).data()) % g.alignment(), 0u) << t.name;
        }
    }

    test::TemporaryFolder folder_;
};

TEST_F(ReaderOfOracleFiles, OneFile) {
    MINFER_SKIP_WITHOUT(test::python());
    const Gguf g = Gguf::open(write("one.gguf"));
    EXPECT_EQ(g.parts().size(), 1u);
    EXPECT_EQ(g.file_size(), std::filesystem::file_size(folder_ / "one.gguf"));
    check_values(g);
    check_tensors(g);
}

TEST_F(ReaderOfOracleFiles, PartsWhoseLaterOnesHoldOnlySplitKeys) {
    MINFER_SKIP_WITHOUT(test::python());
    write("p.gguf", 2);
    const std::string first = (folder_ / "p-00001-of-00003.gguf").string();
    const Gguf g = Gguf::open(first);
    EXPECT_EQ(g.parts().size(), 3u);
    EXPECT_EQ(Gguf::open_part((folder_ / "p-00002-of-00003.gguf").string()).find("t.u8"), nullptr);
    check_values(g);
    check_tensors(g);
    EXPECT_EQ(g.tensor("one").part, 2u);

    std::filesystem::rename(folder_ / "p-00003-of-00003.gguf", folder_ / "q");
    EXPECT_THAT(opening(first), HasSubstr("p-00001-of-00003.gguf: parts: found no file"));
    EXPECT_THAT(opening(first), HasSubstr("p-00003-of-00003.gguf, expected 3 parts"));
    std::filesystem::copy(folder_ / "p-00002-of-00003.gguf", folder_ / "p-00003-of-00003.gguf");
    EXPECT_THAT(opening(first), HasSubstr("p-00003-of-00003.gguf: key 'split.no': found 1, expected 2"));
    EXPECT_THAT(opening(folder_ / "p-00002-of-00003.gguf"), HasSubstr("open the first part, "));
}

// A file of one f32 tensor, with split.* keys of the given types and values.
std::string part(uint32_t type, uint16_t no, uint16_t count, int32_t n_tensors, const std::string& tensor) {
    const auto key = [&](Bytes& b, std::string_view name, uint16_t v) {
        b.key(name, type);
        type == 10 ? b.u64(v) : type == 4 ? b.u32(v) : type == 0 ? b.u8(uint8_t(v)) : b.number(v);
    };
    Bytes b;
    b.start(1, 3);
    key(b, "split.no", no);
    key(b, "split.count", count);
    b.key("split.tensors.count", 5).number(n_tensors);
    return b.tensor(tensor, {8}, 0, 0).pad(32).zeros(32).text();
}

TEST(Parts, AnyIntegerTypeSaysNumberAndCount) {
    const test::TemporaryFolder folder;
    for (const uint32_t type : {0u, 2u, 3u, 4u, 10u}) {
        test::write_file(folder / "m-00001-of-00002.gguf", part(type, 0, 2, 2, "a"));
        test::write_file(folder / "m-00002-of-00002.gguf", part(type, 1, 2, 2, "b"));
        EXPECT_EQ(opening(folder / "m-00001-of-00002.gguf"), "") << type;
    }
}

TEST(Parts, WhatDoesNotGoTogetherIsRefused) {
    const test::TemporaryFolder folder;
    const auto first = folder / "m-00001-of-00002.gguf", second = folder / "m-00002-of-00002.gguf";
    test::write_file(first, part(2, 0, 2, 2, "a"));
    test::write_file(second, part(2, 1, 2, 2, "a"));
    EXPECT_THAT(opening(first), HasSubstr("00002-of-00002.gguf: tensor 'a': found the same name in "));
    test::write_file(second, part(2, 1, 3, 2, "b"));
    EXPECT_THAT(opening(first), HasSubstr("00002-of-00002.gguf: key 'split.count': found 3, expected 2"));
    test::write_file(second, Bytes().start(0, 0).text());
    EXPECT_THAT(opening(first), HasSubstr("00002-of-00002.gguf: key 'split.no': found no such key, expected 1"));
    test::write_file(second, part(2, 1, 2, 2, "b"));
    test::write_file(first, part(2, 0, 2, 3, "a"));
    EXPECT_THAT(opening(first), HasSubstr("key 'split.tensors.count': found 3, expected 2, the tensors of all parts"));
    test::write_file(first, part(2, 0, 3, 2, "a"));
    EXPECT_THAT(opening(first), HasSubstr("key 'split.count': found 3, expected 2, as the file name says"));
    test::write_file(first, part(2, 0, 1, 2, "a"));
    EXPECT_THAT(opening(first), HasSubstr("key 'split.count': found 1, expected 2, as the file name says"));
    test::write_file(first, part(2, 1, 2, 2, "a"));
    EXPECT_THAT(opening(first), HasSubstr("key 'split.no': found 1, expected 0"));
    test::write_file(folder / "plain.gguf", part(2, 0, 2, 2, "a"));
    EXPECT_THAT(opening(folder / "plain.gguf"), HasSubstr("file name: found no -NNNNN-of-MMMMM.gguf at its end"));
}

TEST(Parts, AWholeFileMayKeepTheTraceOfAMerge) {
    const test::TemporaryFolder folder;
    test::write_file(folder / "m.gguf", part(2, 0, 0, 1, "a"));
    EXPECT_EQ(opening(folder / "m.gguf"), "");
    test::write_file(folder / "m-00001-of-00002.gguf", part(2, 0, 0, 1, "a"));
    EXPECT_EQ(opening(folder / "m-00001-of-00002.gguf"), "");
}

TEST(Parts, Names) {
    EXPECT_EQ(split_name("dir/m", 0, 3), "dir/m-00001-of-00003.gguf");
    const auto name = parse_split_name("dir/m-00002-of-00003.gguf");
    ASSERT_TRUE(name);
    EXPECT_EQ(name->prefix, "dir/m");
    EXPECT_EQ(name->index, 1u);
    EXPECT_EQ(name->count, 3u);
    for (const char* other : {"m.gguf", "m-00000-of-00003.gguf", "m-00004-of-00003.gguf", "m-0001-of-0003.gguf",
                              "m-00001-of-00003.bin", "m-000x1-of-00003.gguf", "m+00001-of-00003.gguf",
                              "-00001-of-00003.gguf", "dir/-00001-of-00003.gguf", "m-00001-in-00003.gguf", ""})
        EXPECT_FALSE(parse_split_name(other)) << other;
}

TEST(Reader, SaysWhichKeyIsMissingOrOfAnotherKind) {
    const test::TemporaryFolder folder;
    const auto path = (folder / "m.gguf").string();
    test::write_file(path,
                     Bytes().start(0, 3).key_u32("n", 70000).key_string("s", "text").key("i", 5).number(-1).text());
    const Gguf g = Gguf::open(path);
    EXPECT_EQ(g.get<uint64_t>("n"), 70000u);
    EXPECT_EQ(g.get<std::string>("s"), "text");
    EXPECT_EQ(g.get_or<float>("none", 2.5f), 2.5f);
    EXPECT_EQ(g.get_if<int>("none"), std::nullopt);
    const std::string start = path + ": key ";
    EXPECT_EQ(test::what<Error>([&] { g.get<int>("none"); }), start + "'none': found no such key, expected one");
    EXPECT_EQ(test::what<Error>([&] { g.get<uint16_t>("n"); }),
              start + "'n': found u32 70000, expected an integer from 0 to 65535");
    EXPECT_EQ(test::what<Error>([&] { g.get<uint8_t>("i"); }),
              start + "'i': found i32 -1, expected an integer from 0 to 255");
    EXPECT_EQ(test::what<Error>([&] { g.get_or<float>("n", 0); }),
              start + "'n': found u32 70000, expected an f32 or f64");
    EXPECT_EQ(test::what<Error>([&] { g.get<bool>("n"); }), start + "'n': found u32 70000, expected a bool");
    EXPECT_EQ(
        test::what<Error>([&] { g.get<std::vector<int>>("s"); }),
        start + "'s': found string 'text', expected an array, each item an integer from -2147483648 to 2147483647");
    EXPECT_EQ(test::what<Error>([&] { g.tensor("t"); }), path + ": tensor 't': found no such tensor, expected one");
}

TEST(Reader, FilesThatAreNoFiles) {
    const test::TemporaryFolder folder;
    EXPECT_THAT(opening(folder / "none.gguf"), HasSubstr("none.gguf: cannot open: No such file"));
    EXPECT_THAT(opening(folder.path()), HasSubstr("Is a directory"));
    EXPECT_THAT(opening("/dev/zero"), HasSubstr("no regular file"));
    test::write_file(folder / "empty.gguf", "");
    EXPECT_THAT(opening(folder / "empty.gguf"), HasSubstr("magic: found 0 bytes left at 0"));
}

TEST(Reader, ARealModel) {
    const auto path = test::models_dir() / "smollm2-135m-instruct-q4_1.gguf";
    MINFER_SKIP_WITHOUT(path);
    const Gguf g = Gguf::open(path.string());
    EXPECT_EQ(g.architecture(), "llama");
    EXPECT_EQ(g.tensors().size(), 272u);
    EXPECT_EQ(g.get<std::vector<std::string_view>>("tokenizer.ggml.tokens").size(), 49152u);
    const TensorInfo& last = g.tensors().back();
    EXPECT_LE(last.offset + last.nbytes, g.file_size());
}

}  // namespace
}  // namespace minfer::gguf
