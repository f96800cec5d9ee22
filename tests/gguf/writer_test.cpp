// The writer, held against the reader, the `gguf` package, and files that others wrote.
#include "gguf/writer.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "base/error.h"
#include "gguf/split_name.h"
#include "support/support.h"

namespace minfer::gguf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::byte> pattern(uint64_t n, unsigned seed) {
    std::vector<std::byte> bytes(static_cast<size_t>(n));
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(uint8_t(i * 7 + i / 251 + seed));
    return bytes;
}

// Copies a file, whole or in parts, as split and merge do.
void rewrite(const std::string& from, const std::string& to, const SplitLimits& limits = {}) {
    const Gguf source = Gguf::open(from, Gguf::Access::Read);
    Writer out(to);
    for (const KeyValue& entry : source.metadata()) out.set(entry.key, entry.value);
    for (const TensorInfo& t : source.tensors()) out.add_tensor(spec_of(t));
    out.split(limits);
    out.protect(source);
    out.begin();
    for (const TensorInfo& t : source.tensors()) {
        out.begin_tensor(t.name);
        out.write_copy(source, t);
    }
    out.commit();
}

class WriterTest : public ::testing::Test {
  protected:
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    std::vector<std::string> files() const { return test::names_in(folder_.path()); }
    test::TemporaryFolder folder_;
};

TEST_F(WriterTest, WhatIsWrittenIsRead) {
    Writer out(path("m.gguf"));
    const std::vector<std::string> words = {"", "a", "longer"};
    const std::vector<double> reals = {0.1, -1e300};
    out.set("general.architecture", Value::string("test"));
    out.set("u8", Value::scalar(uint8_t(255)));
    out.set("i16", Value::scalar(int16_t(-2)));
    out.set("bool", Value::scalar(true));
    out.set("f64", Value::scalar(0.1));
    out.set("words", Value::strings(words));
    out.set("reals", Value::array(std::span<const double>(reals)));
    out.set("general.alignment", Value::scalar(uint32_t(128)));
    out.set("u8", Value::scalar(uint8_t(7)));  // at its old place
    out.set("gone", Value::scalar(1));
    out.remove("gone");
    out.add_tensor({.name = "a", .ne = {3, 1, 1, 1}});
    out.add_tensor({.name = "b", .ne = {256, 3, 1, 2}, .type = TensorType::Q4_K});
    out.add_tensor({.name = "c", .ne = {5, 1, 1, 1}, .type = TensorType::I8, .n_dims = 3});
    out.begin();
    out.begin_tensor("a");
    out.write(pattern(12, 1));
    out.begin_tensor("b");
    const auto b = pattern(144 * 6, 2);
    for (size_t i = 0; i < b.size(); i += 100) out.write(std::span(b).subspan(i, std::min<size_t>(100, b.size() - i)));
    out.begin_tensor("c");
    out.write(pattern(5, 3));
    EXPECT_THAT(files(), ElementsAre());  // nothing before commit
    out.commit();

    const Gguf g = Gguf::open(path("m.gguf"));
    EXPECT_EQ(g.metadata(), out.metadata());
    EXPECT_EQ(g.metadata()[1].key, "u8");
    EXPECT_EQ(g.get<int>("u8"), 7);
    EXPECT_EQ(g.alignment(), 128u);
    EXPECT_EQ(g.get<std::vector<std::string>>("words"), words);
    EXPECT_EQ(g.get<std::vector<double>>("reals"), reals);
    EXPECT_EQ(g.tensor("a").n_dims, 1u);
    EXPECT_EQ(g.tensor("b").n_dims, 4u);
    EXPECT_EQ(g.tensor("c").n_dims, 3u);
    EXPECT_TRUE(std::ranges::equal(g.data(g.tensor("b")), b));
    EXPECT_TRUE(std::ranges::equal(g.data(g.tensor("c")), pattern(5, 3)));
    EXPECT_EQ(g.file_size() % 128, 0u);
    EXPECT_EQ(g.file_size(), out.plan()[0].file_bytes());
}

TEST_F(WriterTest, TheOraclePackageReadsIt) {
    MINFER_SKIP_WITHOUT(test::python());
    Writer out(path("m.gguf"));
    out.set("general.architecture", Value::string("test"));
    out.set("number", Value::scalar(int32_t(-5)));
    const std::vector<std::string> words = {"x", "yz"};
    out.set("words", Value::strings(words));
    out.add_tensor({.name = "t", .ne = {2, 3, 1, 1}});
    out.begin();
    out.begin_tensor("t");
    const std::vector<float> values = {0, 1, 2, 3, 4, 5};
    out.write(std::as_bytes(std::span(values)));
    out.commit();
    const std::string script =
        "import sys,gguf\n"
        "r=gguf.GGUFReader(sys.argv[1])\n"
        "f=lambda k: r.fields[k].contents()\n"
        "t=r.tensors[0]\n"
        "print(f('general.architecture'), f('number'), f('words'), t.name, [int(n) for n in t.shape], "
        "t.data.tolist())\n";
    const auto done = test::run({test::python().string(), "-c", script, path("m.gguf")});
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(done.out, "test -5 ['x', 'yz'] t [2, 3] [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]\n");
}

TEST_F(WriterTest, RefusesWhatNoReaderWouldTake) {
    Writer out(path("m.gguf"));
    const auto adding = [&](TensorSpec spec) { return test::what<Error>([&] { out.add_tensor(std::move(spec)); }); };
    EXPECT_EQ(adding({.name = "t", .ne = {32, 1, 1, 1}}), "");
    EXPECT_EQ(adding({.name = "t", .ne = {32, 1, 1, 1}}), "tensor 't': its name is there already");
    EXPECT_THAT(adding({.name = std::string(64, 'n')}), HasSubstr("a name of 64 bytes, expected 1 to 63"));
    EXPECT_THAT(adding({.name = ""}), HasSubstr("a name of 0 bytes"));
    EXPECT_THAT(adding({.name = std::string("a\0b", 3)}), HasSubstr("NUL"));
    EXPECT_THAT(adding({.name = "u", .ne = {4, 0, 1, 1}}), HasSubstr("tensor 'u': dimension 1 is 0"));
    EXPECT_THAT(adding({.name = "u", .ne = {4, 2, 1, 1}, .n_dims = 1}), HasSubstr("1 dimensions, expected 2 to 4"));
    EXPECT_THAT(adding({.name = "u", .ne = {31, 1, 1, 1}, .type = TensorType::Q8_0}),
                HasSubstr("tensor 'u': rows of 31 values, expected a multiple of 32, the block of q8_0"));
    EXPECT_THAT(adding({.name = "u", .ne = {uint64_t(1) << 40, uint64_t(1) << 40, 1, 1}}),
                HasSubstr("tensor 'u': 2^63"));
    out.set("general.alignment", Value::scalar(uint32_t(24)));
    EXPECT_THAT(test::what<Error>([&] { out.begin(); }),
                HasSubstr("'general.alignment' is u32 24, expected a u32 that is a power"));
    EXPECT_THAT(test::what<Error>([&] { out.set("", Value::scalar(1)); }), HasSubstr("empty metadata key"));
}

TEST_F(WriterTest, RefusesPayloadsOfAnotherSize) {
    const auto started = [&] {
        Writer out(path("m.gguf"));
        out.add_tensor({.name = "a", .ne = {4, 1, 1, 1}});
        out.add_tensor({.name = "b", .ne = {4, 1, 1, 1}});
        out.begin();
        return out;
    };
    {
        Writer out = started();
        EXPECT_THAT(test::what<Error>([&] { out.begin_tensor("b"); }),
                    HasSubstr("tensor 'b' is out of turn, expected 'a'"));
    }
    {
        Writer out = started();
        out.begin_tensor("a");
        out.write(pattern(15, 0));
        EXPECT_EQ(test::what<Error>([&] { out.begin_tensor("b"); }), "tensor 'a': 15 bytes, expected 16");
    }
    {
        Writer out = started();
        out.begin_tensor("a");
        out.write(pattern(10, 0));
        EXPECT_EQ(test::what<Error>([&] { out.write(pattern(7, 0)); }), "tensor 'a': 17 bytes or more, expected 16");
    }
    {
        Writer out = started();
        out.begin_tensor("a");
        out.write(pattern(16, 0));
        EXPECT_THAT(test::what<Error>([&] { out.commit(); }),
                    HasSubstr("1 tensors were written, expected 2; the next is 'b'"));
        out.begin_tensor("b");
        EXPECT_THAT(test::what<Error>([&] { out.commit(); }), HasSubstr("tensor 'b': 0 bytes, expected 16"));
    }
    {
        Writer out = started();
        out.begin_tensor("a");
        const Writer::Room room = out.reserve(16);
        EXPECT_EQ(test::what<Error>([&] { out.fill(room, pattern(15, 0)); }), "15 bytes for the room of 16");
        out.begin_tensor("b");
        out.write(pattern(16, 0));
        EXPECT_EQ(test::what<Error>([&] { out.commit(); }), "16 bytes were reserved and not filled");
    }
    EXPECT_THAT(files(), ElementsAre());
}

TEST_F(WriterTest, RoomsAreFilledInAnyOrder) {
    constexpr size_t kRooms = 40, kBytes = 300'000;
    const auto write = [&](const std::string& name, bool backwards) {
        Writer out(path(name));
        out.add_tensor({.name = "t", .ne = {kRooms * kBytes / 4, 1, 1, 1}});
        out.begin();
        out.begin_tensor("t");
        std::vector<Writer::Room> rooms;
        for (size_t i = 0; i < kRooms; ++i) rooms.push_back(out.reserve(kBytes));
        for (size_t i = 0; i < kRooms; ++i) {
            const size_t room = backwards ? kRooms - 1 - i : i;
            out.fill(rooms[room], pattern(kBytes, uint8_t(room)));
        }
        out.commit();
        return test::read_file(path(name));
    };
    const std::string forwards = write("a.gguf", false);
    EXPECT_GT(forwards.size(), kRooms * kBytes);
    EXPECT_TRUE(write("b.gguf", true) == forwards);
}

TEST_F(WriterTest, PartsHoldAllMetadataAndTheirNumbers) {
    Writer out(path("m.gguf"));
    out.set("general.architecture", Value::string("test"));
    out.set("split.count", Value::scalar(uint16_t(0)));  // what llama.cpp's merge leaves behind
    for (const char* name : {"a", "b", "c", "d"}) out.add_tensor({.name = name, .ne = {9, 1, 1, 1}});
    out.split(SplitLimits{.max_bytes = 128});
    ASSERT_EQ(out.plan().size(), 2u);
    out.begin();
    for (const char* name : {"a", "b", "c", "d"}) {
        out.begin_tensor(name);
        out.write(pattern(36, unsigned(name[0])));
    }
    EXPECT_THAT(files(), ElementsAre());
    out.commit();
    EXPECT_THAT(files(), ElementsAre("m-00001-of-00002.gguf", "m-00002-of-00002.gguf"));
    for (const uint32_t i : {0u, 1u}) {
        const Gguf part = Gguf::open_part(split_name(path("m"), i, 2));
        EXPECT_EQ(part.metadata().size(), 4u);
        EXPECT_EQ(part.architecture(), "test");
        EXPECT_EQ(*part.find("split.no"), Value::scalar(uint16_t(i)));
        EXPECT_EQ(*part.find("split.count"), Value::scalar(uint16_t(2)));
        EXPECT_EQ(*part.find("split.tensors.count"), Value::scalar(int32_t(4)));
        EXPECT_EQ(part.tensors().size(), 2u);
    }
    const Gguf whole = Gguf::open(path("m-00001-of-00002.gguf"));
    for (const TensorInfo& t : whole.tensors())
        EXPECT_TRUE(std::ranges::equal(whole.data(t), pattern(36, unsigned(t.name[0]))));
}

TEST_F(WriterTest, PartsMayHaveNoTensors) {
    Writer out(path("m.gguf"));
    out.set("general.architecture", Value::string("test"));
    for (const char* name : {"a", "b", "c"}) out.add_tensor({.name = name, .ne = {9, 1, 1, 1}});
    out.split({1, 1, 3}, 5);
    out.begin();
    for (const char* name : {"a", "b", "c"}) {
        out.begin_tensor(name);
        out.write(pattern(36, unsigned(name[0])));
    }
    out.commit();
    const Gguf whole = Gguf::open(path("m-00001-of-00005.gguf"));
    ASSERT_EQ(whole.parts().size(), 5u);
    EXPECT_EQ(whole.tensor("b").part, 1u);
    EXPECT_EQ(whole.tensor("c").part, 3u);
    for (const TensorInfo& t : whole.tensors())
        EXPECT_TRUE(std::ranges::equal(whole.data(t), pattern(36, unsigned(t.name[0]))));
    for (const auto& [parts, n] :
         {std::pair<std::vector<uint32_t>, uint32_t>{{0, 0}, 1}, {{0, 1, 0}, 2}, {{0, 0, 2}, 2}}) {
        Writer bad(path("bad.gguf"));
        for (const char* name : {"a", "b", "c"}) bad.add_tensor({.name = name, .ne = {9, 1, 1, 1}});
        bad.split(parts, n);
        EXPECT_THAT(test::what<Error>([&] { bad.begin(); }), HasSubstr("bad.gguf: "));
    }
}

TEST_F(WriterTest, KeysAreFoundAfterOthersWereRemoved) {
    Writer out(path("m.gguf"));
    for (const char* key : {"a", "b", "c", "d"}) out.set(key, Value::scalar(1));
    out.remove("b");
    out.remove("none");
    out.set("d", Value::scalar(2));
    out.set("a", Value::scalar(3));
    out.set("b", Value::scalar(4));
    const std::vector<KeyValue> expected = {
        {"a", Value::scalar(3)}, {"c", Value::scalar(1)}, {"d", Value::scalar(2)}, {"b", Value::scalar(4)}};
    EXPECT_EQ(out.metadata(), expected);
}

TEST(SplitAssignment, FillsPartsGreedily) {
    std::vector<TensorSpec> tensors;
    for (const uint64_t n : {8, 8, 16, 1, 40, 8})
        tensors.push_back({.name = "t", .ne = {n, 1, 1, 1}});  // 32 64 160 bytes
    const auto assign = [&](SplitLimits limits) { return split_assignment(tensors, 32, limits); };
    EXPECT_THAT(assign({}), ElementsAre(0, 0, 0, 0, 0, 0));
    EXPECT_THAT(assign({.max_bytes = 160}), ElementsAre(0, 0, 0, 0, 1, 2));
    EXPECT_THAT(assign({.max_bytes = 161}), ElementsAre(0, 0, 0, 0, 1, 2));
    EXPECT_THAT(assign({.max_tensors = 4}), ElementsAre(0, 0, 0, 0, 1, 1));
    EXPECT_THAT(assign({.max_bytes = 192, .max_tensors = 2}), ElementsAre(0, 0, 1, 1, 2, 2));
    tensors[4].name = "output.weight";
    EXPECT_EQ(test::what<Error>([&] { assign({.max_bytes = 159}); }),
              "GGUF split: tensor 'output.weight' is 160 bytes, larger than the 159-byte part cap — a tensor cannot be "
              "split across parts; raise --split-max-size (at least 160 bytes) or use a smaller-capable format");
    EXPECT_NE(test::what<Error>([&] { assign({.max_bytes = 0}); }), "");
}

TEST_F(WriterTest, RefusesToWriteOverItsSource) {
    std::filesystem::create_directory(folder_ / "sub");
    Writer out(path("m.gguf"));
    out.add_tensor({.name = "a", .ne = {4, 1, 1, 1}});
    out.begin();
    out.begin_tensor("a");
    out.write(pattern(16, 9));
    out.commit();
    const std::string before = test::read_file(path("m.gguf"));
    std::filesystem::create_symlink("m.gguf", path("link.gguf"));
    std::filesystem::create_hard_link(path("m.gguf"), path("hard.gguf"));
    for (const char* name : {"m.gguf", "link.gguf", "hard.gguf", "sub/../m.gguf"})
        EXPECT_THAT(test::what<Error>([&] { rewrite(path("m.gguf"), path(name)); }),
                    HasSubstr("is both input and output"))
            << name;
    EXPECT_EQ(test::read_file(path("m.gguf")), before);
}

TEST_F(WriterTest, ARealModelSurvivesSplittingAndMerging) {
    const auto model = test::models_dir() / "smollm2-135m-instruct-q4_1.gguf";
    MINFER_SKIP_WITHOUT(model);
    rewrite(model.string(), path("p.gguf"), {.max_bytes = 31'000'000});
    ASSERT_TRUE(std::filesystem::exists(path("p-00001-of-00004.gguf")));
    rewrite(path("p-00001-of-00004.gguf"), path("whole.gguf"));
    EXPECT_EQ(test::run({"cmp", model.string(), path("whole.gguf")}).status, 0);
}

// Any metadata and any tensors: what was written is read back, and a copy is the same file, byte for byte.
RC_GTEST_PROP(WriterProperty, WrittenThenReadThenWrittenAgain, ()) {
    const test::TemporaryFolder folder;
    const auto path = [&](const char* name) { return (folder / name).string(); };
    Writer out(path("m.gguf"));
    const auto n_keys = *rc::gen::inRange(0, 12);
    for (int i = 0; i < n_keys; ++i) {
        const std::string key = *rc::gen::nonEmpty(rc::gen::arbitrary<std::string>());
        if (is_split_key(key) || key == "general.alignment") continue;
        switch (*rc::gen::inRange(0, 8)) {
            case 0:
                out.set(key, Value::scalar(*rc::gen::arbitrary<uint8_t>()));
                break;
            case 1:
                out.set(key, Value::scalar(*rc::gen::arbitrary<int64_t>()));
                break;
            case 2:
                out.set(key, Value::scalar(*rc::gen::arbitrary<float>()));
                break;
            case 3:
                out.set(key, Value::scalar(*rc::gen::arbitrary<bool>()));
                break;
            case 4:
                out.set(key, Value::string(*rc::gen::arbitrary<std::string>()));
                break;
            case 5:
                out.set(key, Value::strings(*rc::gen::arbitrary<std::vector<std::string>>()));
                break;
            case 6: {
                const auto items = *rc::gen::arbitrary<std::vector<int16_t>>();
                out.set(key, Value::array(std::span<const int16_t>(items)));
                break;
            }
            default: {
                const auto items = *rc::gen::arbitrary<std::vector<double>>();
                out.set(key, Value::array(std::span<const double>(items)));
                break;
            }
        }
    }
    if (*rc::gen::arbitrary<bool>())
        out.set("general.alignment", Value::scalar(uint32_t(1) << *rc::gen::inRange(0, 10)));
    const auto n_tensors = *rc::gen::inRange(0, 8);
    for (int i = 0; i < n_tensors; ++i) {
        const TensorType type = *rc::gen::elementOf(std::vector(all_tensor_types().begin(), all_tensor_types().end()));
        TensorSpec spec{.name = "t" + std::to_string(i), .type = type};
        spec.ne[0] = block_size(type) * *rc::gen::inRange<uint64_t>(1, 4);
        for (size_t d = 1; d < kMaxDims; ++d) spec.ne[d] = *rc::gen::inRange<uint64_t>(1, 3);
        out.add_tensor(spec);
    }
    if (*rc::gen::arbitrary<bool>() && n_tensors > 0)
        out.split(SplitLimits{.max_tensors = *rc::gen::inRange<uint64_t>(1, 4)});
    out.begin();
    const std::vector<TensorSpec> tensors = out.tensors();
    for (const TensorSpec& t : tensors) {
        out.begin_tensor(t.name);
        out.write(pattern(t.nbytes(), unsigned(t.name[1])));
    }
    const std::string first = out.plan()[0].path;
    out.commit();

    const Gguf g = Gguf::open(first);
    RC_ASSERT(g.tensors().size() == tensors.size());
    for (size_t i = 0; i < out.metadata().size(); ++i) RC_ASSERT(g.metadata()[i] == out.metadata()[i]);
    for (size_t i = 0; i < tensors.size(); ++i) {
        RC_ASSERT(g.tensors()[i].ne == tensors[i].ne);
        RC_ASSERT(g.tensors()[i].type == tensors[i].type);
        const auto expected = pattern(tensors[i].nbytes(), unsigned(tensors[i].name[1]));
        RC_ASSERT(std::ranges::equal(g.data(g.tensors()[i]), expected));
    }
    rewrite(first, path("whole.gguf"));
    rewrite(path("whole.gguf"), path("q.gguf"), {.max_tensors = 2});
    const std::string again = n_tensors > 2 ? split_name(path("q"), 0, uint32_t(n_tensors + 1) / 2) : path("q.gguf");
    rewrite(again, path("again.gguf"));
    RC_ASSERT(test::read_file(path("whole.gguf")) == test::read_file(path("again.gguf")));
}

}  // namespace
}  // namespace minfer::gguf
