// minfer compare and minfer verify: what they find, and that they find nothing where there is nothing.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "gguf/writer.h"
#include "support/support.h"

namespace minfer {
namespace {

using gguf::TensorType;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using Json = nlohmann::json;

struct Tensor {
    gguf::TensorSpec spec;
    std::vector<std::byte> bytes;
};

template <typename T>
Tensor tensor(const std::string& name, TensorType type, std::array<uint64_t, 4> ne, const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {{.name = name, .ne = ne, .type = type}, {bytes.begin(), bytes.end()}};
}

class CompareVerify : public ::testing::Test {
  protected:
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    test::Finished minfer(std::vector<std::string> words, const std::vector<std::string>& environment = {}) const {
        words.insert(words.begin(), test::binary().string());
        return test::run(words, "", environment);
    }
    void write(const std::string& name, const std::vector<Tensor>& tensors, int32_t version = 1,
               uint64_t max_tensors = UINT64_MAX) const {
        gguf::Writer out(path(name));
        out.set("general.architecture", gguf::Value::string("test"));
        out.set("version", gguf::Value::scalar(version));
        out.split(gguf::SplitLimits{.max_tensors = max_tensors});
        for (const Tensor& t : tensors) out.add_tensor(t.spec);
        out.begin();
        for (const Tensor& t : tensors) {
            out.begin_tensor(t.spec.name);
            out.write(t.bytes);
        }
        out.commit();
    }
    test::TemporaryFolder folder_;
};

// 300,000 values, so that each is read in more than one piece.
std::vector<float> ramp() {
    std::vector<float> values(300'000);
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(i % 2048);
    return values;
}

TEST_F(CompareVerify, VerifyGivesTheHashesOfOthers) {
    MINFER_SKIP_WITHOUT(test::python());
    write("m.gguf", {tensor("a", TensorType::F32, {30000, 10, 1, 1}, ramp()),
                     tensor("b", TensorType::I8, {5, 1, 1, 1}, std::vector<int8_t>{1, 2, 3, 4, 5}),
                     tensor("c", TensorType::Q4_0, {32, 1, 1, 1}, std::vector<uint8_t>(18, 7))});
    const auto done = minfer({"verify", path("m.gguf"), "--json"});
    ASSERT_EQ(done.status, 0) << done.err;
    const Json json = Json::parse(done.out);
    EXPECT_EQ(json["ok"], true);
    const auto sum = test::run({"sha256sum", path("m.gguf")});
    EXPECT_EQ(json["parts"][0]["sha256"], sum.out.substr(0, 64));
    const std::string script =
        "import sys,gguf,hashlib\n"
        "for t in gguf.GGUFReader(sys.argv[1]).tensors: print(hashlib.sha256(t.data.tobytes()).hexdigest())\n";
    const auto oracle = test::run({test::python().string(), "-c", script, path("m.gguf")});
    std::string mine;
    for (const Json& t : json["tensors"]) mine += t["sha256"].get<std::string>() + "\n";
    EXPECT_EQ(mine, oracle.out);
    const auto text = minfer({"verify", path("m.gguf")});
    EXPECT_EQ(text.status, 0);
    EXPECT_THAT(text.out, HasSubstr(sum.out.substr(0, 64) + "  " + path("m.gguf") + "\n"));
    EXPECT_THAT(text.out, EndsWith("3 tensors, no fault found\n"));
}

TEST_F(CompareVerify, VerifyFindsFaultyNumbers) {
    std::vector<float> floats = ramp();
    floats[299'999] = floats[7] = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> mask = ramp();
    mask[0] = -std::numeric_limits<float>::infinity();
    std::vector<uint8_t> blocks(18 * 4);
    blocks[18 * 2 + 1] = 0xfc;  // a scale of minus infinity
    write("m.gguf", {tensor("floats", TensorType::F32, {300'000, 1, 1, 1}, floats),
                     tensor("mask", TensorType::F32, {300'000, 1, 1, 1}, mask),
                     tensor("blocks", TensorType::Q4_0, {64, 2, 1, 1}, blocks)});
    const auto done = minfer({"verify", path("m.gguf")});
    EXPECT_EQ(done.status, 1);
    EXPECT_THAT(done.out, HasSubstr("  floats  2 NaN values, first at value 7\n"));
    EXPECT_THAT(done.out, HasSubstr("  mask  1 infinite value, first at value 0\n"));
    EXPECT_THAT(done.out, HasSubstr("  blocks  1 infinite scale, first at block 2\n"));
    EXPECT_THAT(done.out, EndsWith("3 tensors, 2 of them faulty\n"));
    const auto json = minfer({"verify", path("m.gguf"), "--json"});
    EXPECT_EQ(json.status, 1);
    const Json parsed = Json::parse(json.out);
    EXPECT_EQ(parsed["ok"], false);
    EXPECT_EQ(parsed["tensors"][0]["ok"], false);
    EXPECT_EQ(parsed["tensors"][1]["ok"], true);
    EXPECT_EQ(parsed["tensors"][2]["n_infinite"], 1);
}

TEST_F(CompareVerify, VerifySaysWhyAFileCannotBeRead) {
    write("m.gguf", {tensor("a", TensorType::F32, {300'000, 1, 1, 1}, ramp())});
    const std::string whole = test::read_file(path("m.gguf"));
    test::write_file(path("cut.gguf"), whole.substr(0, whole.size() - 100));
    const auto cut = minfer({"verify", path("cut.gguf"), "--json"});
    EXPECT_EQ(cut.status, 1);
    EXPECT_THAT(Json::parse(cut.out)["error"].get<std::string>(),
                HasSubstr("tensor 'a': found 1200000 bytes at offset 0"));
    EXPECT_THAT(cut.err, HasSubstr("minfer verify: "));
    const auto failing = minfer({"verify", path("m.gguf")},
                                {std::string("LD_PRELOAD=") + MINFER_FAILING_PREAD, "FAIL_AFTER_BYTES=1000000"});
    EXPECT_EQ(failing.status, 1);
    EXPECT_THAT(failing.err, EndsWith("Input/output error\n"));
}

TEST_F(CompareVerify, VerifyTellsOfBytesAfterTheEnd) {
    write("m.gguf", {tensor("a", TensorType::I8, {5, 1, 1, 1}, std::vector<int8_t>{1, 2, 3, 4, 5})});
    const std::string whole = test::read_file(path("m.gguf"));
    test::write_file(path("short.gguf"), whole.substr(0, whole.size() - 27));  // without its last padding
    EXPECT_EQ(minfer({"verify", path("short.gguf")}).status, 0);
    test::write_file(path("long.gguf"), whole + "garbage");
    const auto text = minfer({"verify", path("long.gguf")});
    EXPECT_EQ(text.status, 1);
    EXPECT_THAT(text.out, EndsWith(fmt::format(
                              "long.gguf  7 bytes after its end at {}\n1 tensors, none of them faulty, but more in "
                              "the file than they are\n",
                              whole.size())));
    const auto json = minfer({"verify", path("long.gguf"), "--json"});
    EXPECT_EQ(json.status, 1);
    const Json parsed = Json::parse(json.out);
    EXPECT_EQ(parsed["ok"], false);
    EXPECT_EQ(parsed["parts"][0]["n_trailing"], 7);
    EXPECT_EQ(parsed["tensors"][0]["ok"], true);
}

TEST_F(CompareVerify, CompareSaysWhyInJsonToo) {
    write("m.gguf", {tensor("a", TensorType::I8, {1, 1, 1, 1}, std::vector<int8_t>{1})});
    const auto done = minfer({"compare", path("m.gguf"), path("none.gguf"), "--json"});
    EXPECT_EQ(done.status, 1);
    const Json json = Json::parse(done.out);
    EXPECT_EQ(json["equal"], false);
    EXPECT_EQ(json["b"], path("none.gguf"));
    EXPECT_EQ(json["error"], path("none.gguf") + ": cannot open: No such file or directory");
    EXPECT_EQ(done.err, "minfer compare: " + json["error"].get<std::string>() + "\n");
}

TEST_F(CompareVerify, PartsAreTheModelThatTheyHold) {
    const std::vector<Tensor> tensors = {tensor("a", TensorType::I8, {3, 1, 1, 1}, std::vector<int8_t>{1, 2, 3}),
                                         tensor("b", TensorType::I8, {2, 1, 1, 1}, std::vector<int8_t>{4, 5})};
    write("m.gguf", tensors);
    write("p.gguf", tensors, 1, 1);
    const auto verified = Json::parse(minfer({"verify", path("p-00001-of-00002.gguf"), "--json"}).out);
    EXPECT_EQ(verified["parts"].size(), 2u);
    EXPECT_EQ(verified["tensors"].size(), 2u);
    const auto done = minfer({"compare", path("m.gguf"), path("p-00001-of-00002.gguf")});
    EXPECT_EQ(done.status, 0) << done.out;
    EXPECT_THAT(done.out, HasSubstr("metadata: 2 equal, 0 not\n"));
    EXPECT_THAT(done.out, HasSubstr("tensors: 2 equal, 0 not\n"));
}

TEST_F(CompareVerify, CompareMeasuresDifferences) {
    std::vector<float> a = ramp(), b = a;
    b[5] += 1;  // one byte of the float
    b[299'998] += 2.5;
    std::vector<uint16_t> halves(32, 0x3c00);
    std::vector<float> floats(32, 1.0f);
    floats[3] = 1.0f + 0x1p-12f;
    const auto bytes = [](const std::string& name, uint64_t n) {
        return tensor(name, TensorType::I8, {n, 1, 1, 1}, std::vector<int8_t>(n, 1));
    };
    write("a.gguf", {tensor("values", TensorType::F32, {300'000, 1, 1, 1}, a),
                     tensor("type", TensorType::F32, {32, 1, 1, 1}, floats), bytes("same", 4), bytes("gone", 4),
                     bytes("shape", 4), tensor("opaque", TensorType::I16, {2, 1, 1, 1}, std::vector<int16_t>{1, 2})});
    write("b.gguf",
          {bytes("new", 4), tensor("values", TensorType::F32, {300'000, 1, 1, 1}, b), bytes("shape", 5),
           tensor("type", TensorType::F16, {32, 1, 1, 1}, halves), bytes("same", 4),
           tensor("opaque", TensorType::I16, {2, 1, 1, 1}, std::vector<int16_t>{1, 3})},
          2);
    const auto done = minfer({"compare", path("a.gguf"), path("b.gguf"), "--json"});
    EXPECT_EQ(done.status, 1) << done.err;
    const Json json = Json::parse(done.out);
    EXPECT_EQ(json["equal"], false);
    EXPECT_EQ(json["metadata"]["n_equal"], 1);
    EXPECT_EQ(json["metadata"]["different"][0]["key"], "version");
    EXPECT_EQ(json["metadata"]["different"][0]["b"]["value"], 2);
    EXPECT_EQ(json["tensors"]["n_equal"], 1);
    std::map<std::string, Json> by_name;
    for (const Json& t : json["tensors"]["all"]) by_name[t["name"]] = t;
    ASSERT_EQ(by_name.size(), 7u);
    EXPECT_EQ(by_name["same"]["result"], "equal");
    EXPECT_EQ(by_name["gone"]["result"], "only in A");
    EXPECT_EQ(by_name["new"]["result"], "only in B");
    EXPECT_EQ(by_name["new"]["a"], nullptr);
    EXPECT_EQ(by_name["shape"]["result"], "different shape");
    EXPECT_EQ(by_name["opaque"]["n_different_bytes"], 1);
    EXPECT_FALSE(by_name["opaque"].contains("rmse"));
    EXPECT_EQ(by_name["values"]["result"], "different bytes");
    EXPECT_DOUBLE_EQ(by_name["values"]["max_error"].get<double>(), 2.5);
    EXPECT_DOUBLE_EQ(by_name["values"]["rmse"].get<double>(), std::sqrt((1 + 6.25) / 300'000));
    uint64_t n_different = 0;
    for (const size_t i : {size_t(5), size_t(299'998)})
        for (size_t k = 0; k < 4; ++k)
            n_different += std::as_bytes(std::span(a))[4 * i + k] != std::as_bytes(std::span(b))[4 * i + k];
    EXPECT_EQ(by_name["values"]["n_different_bytes"], n_different);
    EXPECT_EQ(by_name["type"]["result"], "different type");
    EXPECT_DOUBLE_EQ(by_name["type"]["max_error"].get<double>(), 0x1p-12);
    EXPECT_DOUBLE_EQ(by_name["type"]["rmse"].get<double>(), 0x1p-12 / std::sqrt(32.0));

    const auto text = minfer({"compare", path("a.gguf"), path("b.gguf")});
    EXPECT_EQ(text.status, 1);
    EXPECT_THAT(text.out, HasSubstr("f32 32      f16 32      different type, RMSE 4.316e-05, largest 0.0002441\n"));
    EXPECT_THAT(text.out,
                HasSubstr(fmt::format("{} of 1200000 bytes differ, RMSE 0.004916, largest 2.5\n", n_different)));
    EXPECT_THAT(text.out, HasSubstr("1 of 4 bytes differ, values not compared: no decoder\n"));
    EXPECT_THAT(text.out, HasSubstr("version  1  2  different\n"));
    EXPECT_EQ(minfer({"compare", path("a.gguf"), path("a.gguf")}).status, 0);
    EXPECT_EQ(minfer({"compare", path("a.gguf")}).status, 2);
    EXPECT_EQ(minfer({"compare", path("a.gguf"), path("none.gguf")}).status, 1);
}

}  // namespace
}  // namespace minfer
