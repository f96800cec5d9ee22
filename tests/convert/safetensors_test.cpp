// Malformed safetensors files, indices and folders: each its own error.
#include "convert/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "convert/checkpoint.h"
#include "tiny_checkpoint.h"

namespace minfer::test {
namespace {

using convert::Checkpoint;
using convert::SourceTensor;
using testing::HasSubstr;

// Parses a header in front of `data_bytes` bytes.
std::vector<SourceTensor> parse(const std::string& json, uint64_t data_bytes) {
    return convert::parse_safetensors_header(json, 8 + json.size() + data_bytes, "m.safetensors");
}

std::string fault(const std::string& json, uint64_t data_bytes) {
    return message_of<FormatError>([&] { parse(json, data_bytes); });
}

TEST(Safetensors, GivesTensorsInTheOrderOfTheirNames) {
    const std::string json =
        R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]},)"
        R"("a":{"dtype":"BF16","shape":[],"data_offsets":[12,14]},"c":{"data_offsets":[14,22],"shape":[1,2],"dtype":"F32"}}  )";
    const std::vector<SourceTensor> tensors = parse(json, 22);
    ASSERT_EQ(tensors.size(), 3u);
    EXPECT_EQ(tensors[0].name, "a");
    EXPECT_EQ(tensors[0].n_values(), 1u);
    EXPECT_EQ(tensors[1].shape, (std::vector<uint64_t>{2, 3}));
    EXPECT_EQ(tensors[1].dtype, convert::Dtype::F16);
    EXPECT_EQ(tensors[1].offset, 8 + json.size());
    EXPECT_EQ(tensors[2].nbytes, 8u);
}

TEST(Safetensors, NamesEachFault) {
    const auto entry = [](const std::string& fields) { return R"({"t":{)" + fields + "}}"; };
    const std::string good = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
    EXPECT_EQ(fault(entry(good), 8), "no exception");
    EXPECT_EQ(fault(entry(good), 9), "m.safetensors: data: found 1 bytes after the last tensor, expected none");
    EXPECT_EQ(
        fault(entry(good), 7),
        "m.safetensors: tensor 't': data_offsets: found [0, 8], expected a range within the file's 7 bytes of data");
    EXPECT_THAT(fault("{\"t\":", 8), HasSubstr("m.safetensors: header: found JSON that does not parse"));
    EXPECT_THAT(fault("{\"\xff\":1}", 8), HasSubstr("header: found JSON that does not parse"));
    EXPECT_THAT(fault("[1]", 8), HasSubstr("header: found JSON that is no object"));
    EXPECT_THAT(fault("", 8), HasSubstr("header: found JSON that does not parse"));
    EXPECT_THAT(fault(std::string(3000, '['), 8), HasSubstr("header: found JSON that does not parse"));
    EXPECT_THAT(fault(R"({"t":3})", 8), HasSubstr("tensor 't': found no object"));
    EXPECT_THAT(fault(entry(R"("shape":[2],"data_offsets":[0,8])"), 8), HasSubstr("tensor 't': found no dtype"));
    EXPECT_THAT(fault(entry(R"("dtype":"F32","data_offsets":[0,8])"), 8), HasSubstr("tensor 't': found no shape"));
    EXPECT_THAT(fault(entry(R"("dtype":"F32","shape":[2])"), 8), HasSubstr("tensor 't': found no data_offsets"));
    EXPECT_THAT(fault(entry(good + R"(,"dtype":"F32")"), 8), HasSubstr("tensor 't': dtype: found it twice"));
    EXPECT_THAT(fault(entry(good + R"(,"shape":[2])"), 8), HasSubstr("tensor 't': shape: found it twice"));
    EXPECT_THAT(fault(entry(good + R"(,"extra":1)"), 8), HasSubstr("tensor 't': found the key 'extra'"));
    EXPECT_THAT(fault(entry(R"("dtype":7,"shape":[2],"data_offsets":[0,8])"), 8),
                HasSubstr("dtype: found another kind of value"));
    EXPECT_THAT(fault(entry(R"("dtype":"F32","shape":2,"data_offsets":[0,8])"), 8),
                HasSubstr("shape: found another kind of value"));
    EXPECT_THAT(fault(entry(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"), 8),
                HasSubstr("shape: found another kind of item"));
    EXPECT_THAT(fault(entry(R"("dtype":"F32","shape":[2.5],"data_offsets":[0,8])"), 8),
                HasSubstr("shape: found another kind of item"));
    EXPECT_THAT(fault(entry(R"("dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,8])"), 8),
                HasSubstr("shape: found a product of dimensions past 64 bits"));
    EXPECT_THAT(fault(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,8,9])"), 8),
                HasSubstr("data_offsets: found 3 numbers"));
    EXPECT_THAT(fault(entry(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), 8),
                HasSubstr("data_offsets: found [8, 0]"));
    EXPECT_THAT(fault(entry(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"), 8),
                HasSubstr("data_offsets: found 8 bytes, expected 12 for its shape and dtype F32"));
    EXPECT_THAT(fault(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551615])"), 8),
                HasSubstr("data_offsets: found [0, 18446744073709551615]"));
    EXPECT_THAT(fault(R"({"__metadata__":3,"t":{)" + good + "}}", 8), HasSubstr("__metadata__: found no object"));
    EXPECT_THAT(fault(R"({"__metadata__":{"n":3},"t":{)" + good + "}}", 8),
                HasSubstr("__metadata__ 'n': found no string"));
    EXPECT_THAT(fault(R"({"__metadata__":{},"__metadata__":{},"t":{)" + good + "}}", 8),
                HasSubstr("__metadata__: found it twice"));
    EXPECT_THAT(fault(R"({"t":{)" + good + R"(},"t":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})", 16),
                HasSubstr("tensor 't': found it twice"));
}

TEST(Safetensors, OffsetsNeitherOverlapNorLeaveAHole) {
    const auto two = [](const std::string& a, const std::string& b) {
        return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + a +
               R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}";
    };
    EXPECT_EQ(fault(two("[4,8]", "[0,4]"), 8), "no exception");
    EXPECT_THAT(fault(two("[0,4]", "[3,7]"), 8),
                HasSubstr("tensor 'b': data_offsets: found a beginning at 3, which overlaps the tensor before it"));
    EXPECT_THAT(fault(two("[0,4]", "[5,9]"), 9),
                HasSubstr("tensor 'b': data_offsets: found a beginning at 5, which leaves a hole before it"));
    EXPECT_THAT(fault(two("[1,5]", "[5,9]"), 9), HasSubstr("tensor 'a': data_offsets: found a beginning at 1"));
}

std::string read_fault(const std::string& bytes) {
    const TemporaryFolder folder;
    write_file(folder / "m.safetensors", bytes);
    return message_of<FormatError>(
        [&] { convert::read_safetensors_header(File::open((folder / "m.safetensors").string())); });
}

TEST(Safetensors, TheHeadersLengthIsHeldAgainstTheFile) {
    const auto length = [](uint64_t n) { return std::string(reinterpret_cast<const char*>(&n), 8); };
    EXPECT_THAT(read_fault("1234567"), HasSubstr("size: found 7 bytes"));
    EXPECT_THAT(read_fault(length(3) + "{}"), HasSubstr("header length: found 3, expected at most the 2 bytes"));
    EXPECT_THAT(read_fault(length(~uint64_t(0)) + "{}"), HasSubstr("header length: found 18446744073709551615"));
    EXPECT_THAT(read_fault(length((16 << 20) + 1) + std::string((16 << 20) + 1, ' ')),
                HasSubstr("header length: found 16777217, expected at most 16777216"));
}

TEST(Safetensors, EveryTruncationIsAnError) {
    const TinyCheckpoint tiny;
    const std::string whole = safetensors(tiny.tensors);
    for (size_t n = 0; n < whole.size(); n += n < 200 ? 1 : 977)
        EXPECT_NE(read_fault(whole.substr(0, n)), "no exception") << n;
    EXPECT_EQ(read_fault(whole), "no exception");
}

// ---- folders

std::string folder_fault(const std::filesystem::path& folder) {
    return message_of<FormatError>([&] { Checkpoint checkpoint(folder); });
}

class Sharded : public testing::Test {
  protected:
    Sharded() {
        tiny.write(false);
        for (size_t i = 0; i < tiny.tensors.size(); ++i) parts[i % 2].push_back(tiny.tensors[i]);
        for (int s = 0; s < 2; ++s) {
            write_file(tiny.folder() / names[s], safetensors(parts[s]));
            for (const TinyTensor& t : parts[s]) index["weight_map"][t.name] = names[s];
        }
    }
    std::string fault() {
        write_file(tiny.folder() / "model.safetensors.index.json", index.dump());
        return folder_fault(tiny.folder());
    }

    TinyCheckpoint tiny;
    std::vector<TinyTensor> parts[2];
    const std::string names[2] = {"model-1.safetensors", "model-2.safetensors"};
    Json index = {{"metadata", {{"total_size", 1}}}};
};

TEST_F(Sharded, IsOneListOfTensorsInTheOrderOfTheShards) {
    ASSERT_EQ(fault(), "no exception");
    const Checkpoint checkpoint(tiny.folder());
    EXPECT_EQ(checkpoint.shards().size(), 2u);
    ASSERT_EQ(checkpoint.tensors().size(), tiny.tensors.size());
    EXPECT_EQ(checkpoint.tensors().front().shard, 0u);
    EXPECT_EQ(checkpoint.tensors().back().shard, 1u);
}

TEST_F(Sharded, NamesEachFaultOfTheIndex) {
    const std::string first = parts[0][0].name;
    const Json good = index;
    std::filesystem::remove(tiny.folder() / names[1]);
    EXPECT_THAT(fault(), HasSubstr("weight_map: found 'model-2.safetensors', which does not exist"));
    write_file(tiny.folder() / names[1], safetensors(parts[1]));

    index["weight_map"]["model.ghost"] = names[0];
    EXPECT_THAT(fault(),
                HasSubstr("weight_map: tensor 'model.ghost': found 'model-1.safetensors', expected a file that "
                          "has this tensor"));
    index = good;
    index["weight_map"].erase(first);
    EXPECT_THAT(fault(), HasSubstr("weight_map: found no tensor '" + first + "'"));
    index = good;
    index["weight_map"][first] = names[1];
    EXPECT_THAT(fault(), HasSubstr("weight_map: tensor '" + first + "': found 'model-2.safetensors'"));
    index = good;
    index["weight_map"][first] = 3;
    EXPECT_THAT(fault(), HasSubstr("found the number 3"));
    index.erase("weight_map");
    EXPECT_THAT(fault(), HasSubstr("key 'weight_map': found no such key"));
    index = good;
    parts[1].push_back(parts[0][0]);
    write_file(tiny.folder() / names[1], safetensors(parts[1]));
    EXPECT_THAT(fault(), HasSubstr("tensor '" + first + "': found it in 'model-1.safetensors' too"));
}

TEST_F(Sharded, NoPathLeavesTheFolder) {
    const std::string first = parts[0][0].name;
    for (const std::string path : {"../model-1.safetensors", "/etc/passwd", "a/../../b", "..", ""}) {
        index["weight_map"][first] = path;
        EXPECT_THAT(fault(), HasSubstr("the path '" + path + "', expected a file inside the folder"));
    }
    index["weight_map"][first] = std::string("a\0b", 3);
    EXPECT_THAT(fault(), HasSubstr("expected a file inside the folder"));
}

TEST(Folder, WithoutWeightsSaysWhatIsThere) {
    const TinyCheckpoint tiny;
    tiny.write(false);
    EXPECT_THAT(folder_fault(tiny.folder()), HasSubstr("weights: found none, expected model.safetensors"));
    write_file(tiny.folder() / "pytorch_model.bin", "x");
    EXPECT_THAT(folder_fault(tiny.folder()), HasSubstr("weights: found 'pytorch_model.bin'"));
    EXPECT_THAT(folder_fault(tiny.folder() / "config.json"), HasSubstr("checkpoint: found a file, expected a folder"));
    EXPECT_THAT(folder_fault(tiny.folder() / "none"), HasSubstr("checkpoint: found nothing, expected a folder"));
}

}  // namespace
}  // namespace minfer::test
