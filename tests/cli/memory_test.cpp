// How much memory the tools take for files of odd shapes: as much as for any other. Sources are holes, so that they
// cost no disk; their zeros are weights like others.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "gguf/reader.h"
#include "gguf/writer.h"
#include "support/support.h"

namespace minfer {
namespace {

namespace fs = std::filesystem;
using gguf::TensorType;
using gguf::Value;

constexpr long kMostKiB = 96 * 1024;  // of everything resident, the program's own pages too

class LittleMemory : public testing::Test {
  protected:
    std::string path(const std::string& name) const { return (folder_ / name).string(); }

    // A file of one tensor of zeros.
    void write(const std::string& name, const gguf::TensorSpec& tensor, uint32_t alignment = 32) const {
        write(name, std::vector<gguf::TensorSpec>{tensor}, {{"general.alignment", Value::scalar(alignment)}});
    }
    void write(const std::string& name, const std::vector<gguf::TensorSpec>& tensors,
               const std::vector<gguf::KeyValue>& metadata) const {
        std::string header;
        gguf::Writer plan(path(name));
        for (const auto& [key, value] : metadata) plan.set(key, value);
        for (const gguf::TensorSpec& tensor : tensors) plan.add_tensor(tensor);
        gguf::encode_header(plan.metadata(), tensors, plan.alignment(), [&](std::span<const std::byte> bytes) {
            header.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        });
        test::write_file(path(name), header);
        fs::resize_file(path(name), plan.plan()[0].file_bytes());
    }
    // Runs minfer, and gives the most that it had in memory at any time, in KiB.
    long peak(std::vector<std::string> words) const {
        words.insert(words.begin(), test::binary().string());
        std::vector<char*> argv;
        for (std::string& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        const pid_t child = fork();
        if (child == 0) {
            freopen(path("out.txt").c_str(), "w", stdout);
            freopen(path("err.txt").c_str(), "w", stderr);
            execv(argv[0], argv.data());
            _exit(127);
        }
        int status = 0;
        rusage usage = {};
        wait4(child, &status, 0, &usage);
        EXPECT_EQ(status, 0) << test::read_file(path("err.txt"));
        return usage.ru_maxrss;
    }

    test::TemporaryFolder folder_;
};

TEST_F(LittleMemory, RowsOfManyMillions) {
    write("f16.gguf", {.name = "a.weight", .ne = {30'000'128, 2, 1, 1}, .type = TensorType::F16});
    EXPECT_LT(peak({"quantize", path("f16.gguf"), path("q.gguf"), "--type", "q4_K", "-t", "64"}), kMostKiB);
    EXPECT_EQ(gguf::Gguf::open(path("q.gguf")).tensor("a.weight").type, TensorType::Q4_K);
    EXPECT_LT(peak({"compare", path("f16.gguf"), path("f16.gguf")}), kMostKiB);
    EXPECT_LT(peak({"verify", path("f16.gguf")}), kMostKiB);
    fs::remove(path("q.gguf"));
    write("vector.gguf", {.name = "v", .ne = {60'000'000, 1, 1, 1}, .type = TensorType::F16});
    EXPECT_LT(peak({"quantize", path("vector.gguf"), path("q.gguf"), "--type", "f32"}), kMostKiB);
    EXPECT_EQ(fs::file_size(path("q.gguf")) / 1'000'000, 240u);
    fs::remove(path("q.gguf"));
    EXPECT_LT(peak({"split", path("vector.gguf"), path("parts"), "--max-size", "1G"}), kMostKiB);
}

TEST_F(LittleMemory, ImportanceOfManyMillions) {
    const uint64_t row = 30'000'128;
    write("imatrix.gguf", {{.name = "a.weight.in_sum2", .ne = {row, 1, 1, 1}}, {.name = "a.weight.counts"}},
          {{"imatrix.datasets", Value::strings(std::span<const std::string_view>())},
           {"imatrix.chunk_count", Value::scalar(uint32_t(1))},
           {"imatrix.chunk_size", Value::scalar(uint32_t(512))}});
    // Two rows, since one is a vector and no matrix.
    write("f16.gguf", {.name = "a.weight", .ne = {row, 2, 1, 1}, .type = TensorType::F16});
    EXPECT_LT(peak({"quantize", path("f16.gguf"), path("q.gguf"), "--type", "q4_0", "--pure", "--imatrix",
                    path("imatrix.gguf")}),
              kMostKiB);
}

TEST_F(LittleMemory, PaddingOfAnySize) {
    write("m.gguf", {.name = "v", .ne = {8, 1, 1, 1}}, uint32_t(1) << 27);
    EXPECT_LT(peak({"quantize", path("m.gguf"), path("q.gguf"), "--type", "q8_0", "--pure"}), kMostKiB);
    EXPECT_EQ(fs::file_size(path("q.gguf")), uint64_t(1) << 28);
    EXPECT_LT(peak({"split", path("m.gguf"), path("parts"), "--max-size", "1G"}), kMostKiB);
    EXPECT_EQ(test::run({"cmp", path("m.gguf"), path("parts/m.gguf")}).status, 0);
    EXPECT_EQ(test::read_file(path("err.txt")).find("note"), std::string::npos);
}

TEST_F(LittleMemory, AVocabularyIsThereOnce) {
    std::vector<std::string> words(400'000, std::string(32, 'x'));  // 16 MB as a file has them
    write("m.gguf", {{.name = "a.weight", .ne = {32, 2, 1, 1}}}, {{"tokenizer.ggml.tokens", Value::strings(words)}});
    EXPECT_LT(peak({"quantize", path("m.gguf"), path("q.gguf"), "--type", "q8_0", "--pure"}), kMostKiB);
}

}  // namespace
}  // namespace minfer
