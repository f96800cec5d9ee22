// Both forms of importance files, and what is wrong with broken ones.
#include "quant/importance.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "base/error.h"
#include "gguf/writer.h"
#include "support/support.h"

namespace minfer::quant {
namespace {

class LegacyFile {
  public:
    LegacyFile& number(int32_t value) {
        bytes_.append(reinterpret_cast<const char*>(&value), 4);
        return *this;
    }
    LegacyFile& text(const std::string& value) {
        number(int32_t(value.size()));
        bytes_ += value;
        return *this;
    }
    LegacyFile& floats(const std::vector<float>& values) {
        number(int32_t(values.size()));
        bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * 4);
        return *this;
    }
    const std::string& bytes() const { return bytes_; }

  private:
    std::string bytes_;
};

std::string error_of(const std::string& bytes) {
    test::TemporaryFolder folder;
    const auto path = folder / "imatrix.dat";
    test::write_file(path, bytes);
    try {
        Importance::read(path);
    } catch (const FormatError& e) {
        return e.field() + ": found " + e.found() + ", expected " + e.expected();
    }
    return "accepted";
}

std::vector<float> values(const Importance& importance, std::string_view name) {
    std::vector<float> all(importance.find(name).value_or(0));
    if (!all.empty()) importance.load(name, 0, all);
    for (size_t i = 0; i < all.size(); ++i) {  // one by one they are the same
        float one = 0;
        importance.load(name, i, std::span(&one, 1));
        EXPECT_EQ(one, all[i]);
    }
    return all;
}

TEST(Importance, LegacySumsAreDividedByTheirCalls) {
    test::TemporaryFolder folder;
    const auto path = folder / "imatrix.dat";
    LegacyFile file;
    file.number(2).text("blk.0.attn_q.weight").number(4).floats({4, 8, 2});
    file.text("blk.0.attn_k.weight").number(0).floats({5}).number(7).text("corpus.txt");
    test::write_file(path, file.bytes());
    const Importance importance = Importance::read(path);
    EXPECT_EQ(importance.n_entries(), 2u);
    EXPECT_EQ(importance.n_chunks(), 7);
    EXPECT_EQ(importance.datasets(), std::vector<std::string>{"corpus.txt"});
    EXPECT_EQ(values(importance, "blk.0.attn_q.weight"), (std::vector<float>{1, 2, 0.5}));
    EXPECT_EQ(values(importance, "blk.0.attn_k.weight"), std::vector<float>{5});
    EXPECT_FALSE(importance.find("blk.0.attn_v.weight"));
}

TEST(Importance, TheTrailerOfALegacyFileMayBeMissing) {
    LegacyFile file;
    file.number(1).text("a").number(1).floats({1});
    EXPECT_EQ(error_of(file.bytes()), "accepted");
}

TEST(Importance, BrokenLegacyFiles) {
    LegacyFile whole;
    whole.number(1).text("name").number(2).floats({1, 2});
    for (size_t n = 0; n < whole.bytes().size(); ++n) EXPECT_NE(error_of(whole.bytes().substr(0, n)), "accepted") << n;
    EXPECT_EQ(error_of(LegacyFile().number(0).bytes()), "number of entries: found 0, expected at least 1");
    EXPECT_EQ(error_of(LegacyFile().number(1).number(-5).bytes()),
              "entry 1 of 1, length of its name: found -5, expected at least 0");
    EXPECT_EQ(error_of(LegacyFile().number(1).text("a").number(1).number(2147483647).bytes()),
              "entry 1 of 1: found 8589934588 bytes to come, expected at most the 0 that are left");
    EXPECT_EQ(
        error_of(LegacyFile().number(1).text("a").number(1).floats({std::numeric_limits<float>::quiet_NaN()}).bytes()),
        "entry 'a', value 0: found nan, expected a finite number that is not negative");
    EXPECT_EQ(error_of(LegacyFile().number(1).text("a").number(0).floats({1, -0.5}).bytes()),
              "entry 'a', value 1: found -0.5, expected a finite number that is not negative");
    EXPECT_EQ(error_of(LegacyFile().number(2).text("a").number(1).floats({1}).text("a").number(1).floats({1}).bytes()),
              "entry 2 of 2: found 'a' a second time, expected each name once");
}

void write_gguf(const std::filesystem::path& path,
                const std::vector<std::pair<gguf::TensorSpec, std::vector<float>>>& tensors, bool with_keys = true) {
    gguf::Writer writer(path.string());
    writer.set("general.type", gguf::Value::string("imatrix"));
    if (with_keys) {
        const std::string_view datasets[] = {"a.txt", "b.txt"};
        writer.set("imatrix.datasets", gguf::Value::strings(datasets));
        writer.set("imatrix.chunk_count", gguf::Value::scalar(uint32_t(12)));
        writer.set("imatrix.chunk_size", gguf::Value::scalar(uint32_t(512)));
    }
    for (const auto& [spec, data] : tensors) writer.add_tensor(spec);
    writer.begin();
    for (const auto& [spec, data] : tensors) {
        writer.begin_tensor(spec.name);
        writer.write(std::as_bytes(std::span(data)));
    }
    writer.commit();
}

TEST(Importance, GgufSumsAreDividedByEachExpertsCount) {
    test::TemporaryFolder folder;
    const auto path = folder / "imatrix.gguf";
    write_gguf(path, {{{"x.weight.in_sum2", {2, 3, 1, 1}}, {2, 4, 9, 9, 6, 3}},
                      {{"x.weight.counts", {1, 3, 1, 1}}, {2, 0, 3}}});
    const Importance importance = Importance::read(path);
    EXPECT_EQ(values(importance, "x.weight"),
              (std::vector<float>{1, 2, 1, 1, 2, 1}));  // the expert never met: all ones
    EXPECT_EQ(importance.datasets(), (std::vector<std::string>{"a.txt", "b.txt"}));
    EXPECT_EQ(importance.n_chunks(), 12);
}

TEST(Importance, BrokenGgufFiles) {
    test::TemporaryFolder folder;
    const auto path = folder / "imatrix.gguf";
    write_gguf(path, {{{"x.in_sum2", {2, 1, 1, 1}}, {1, 1}}});
    EXPECT_THROW(Importance::read(path), FormatError);  // no counts
    write_gguf(path, {{{"x.counts", {1, 1, 1, 1}}, {1}}});
    EXPECT_THROW(Importance::read(path), FormatError);  // no sums
    write_gguf(path, {{{"x.in_sum2", {3, 1, 1, 1}}, {1, 1, 1}}, {{"x.counts", {2, 1, 1, 1}}, {1, 1}}});
    EXPECT_THROW(Importance::read(path), FormatError);  // 3 is no multiple of 2
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
    const auto refusal = [&](float sum, float count) -> std::string {
        write_gguf(path, {{{"x.in_sum2", {2, 2, 1, 1}}, {1, 1, 1, sum}}, {{"x.counts", {1, 2, 1, 1}}, {1, count}}});
        try {
            Importance::read(path);
        } catch (const FormatError& e) {
            return e.field() + ": " + e.found();
        }
        return "accepted";
    };
    EXPECT_EQ(refusal(1, 0), "accepted");
    EXPECT_EQ(refusal(1, kNan), "entry 'x', count 1: nan");
    EXPECT_EQ(refusal(1, kInfinity), "entry 'x', count 1: inf");
    EXPECT_EQ(refusal(1, -1), "entry 'x', count 1: -1");
    EXPECT_EQ(refusal(1, 1e19f), "entry 'x', count 1: 1e+19");
    EXPECT_EQ(refusal(-1, 1), "entry 'x', value 3: -1");
    EXPECT_EQ(refusal(kNan, 0), "entry 'x', value 3: nan");  // which the count of 0 would hide
    EXPECT_EQ(refusal(kInfinity, 1), "entry 'x', value 3: inf");
    write_gguf(path, {{{"x.in_sum2", {1, 1, 1, 1}}, {1}}, {{"x.counts", {1, 1, 1, 1}}, {1}}}, /*with_keys=*/false);
    EXPECT_THROW(Importance::read(path), FormatError);
}

}  // namespace
}  // namespace minfer::quant
