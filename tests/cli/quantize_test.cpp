// minfer quantize as a user meets it: refusals in the specification's words, options, and what is left behind.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <limits>
#include <random>
#include <thread>

#include "gguf/reader.h"
#include "gguf/writer.h"
#include "support/support.h"

namespace minfer {
namespace {

using gguf::TensorType;
using gguf::Value;

constexpr const char* kTargets =
    "q4_0, q4_1, q5_0, q5_1, q8_0, q2_K, q3_K, q4_K, q5_K, q6_K, iq4_nl, iq4_xs, q2_K_S, q3_K_S, q3_K_M, q3_K_L, "
    "q4_K_S, "
    "q4_K_M, q5_K_S, q5_K_M, f16, bf16, f32";

struct Matrix {
    std::string name;
    uint64_t row, rows;
    std::vector<float> values;
};

Matrix random_matrix(const std::string& name, uint64_t row, uint64_t rows) {
    std::mt19937 generator(unsigned(row * 31 + rows));
    std::normal_distribution<float> normal;
    Matrix matrix{name, row, rows, std::vector<float>(row * rows)};
    for (float& value : matrix.values) value = normal(generator);
    return matrix;
}

std::vector<Matrix> small_model() {
    return {random_matrix("token_embd.weight", 256, 64), random_matrix("blk.0.attn_v.weight", 256, 64),
            random_matrix("blk.0.ffn_down.weight", 512, 256), random_matrix("blk.0.attn_norm.weight", 256, 1)};
}

void write_model(const std::filesystem::path& path, const std::vector<Matrix>& matrices, uint64_t max_tensors = 0,
                 const std::vector<gguf::KeyValue>& metadata = {}) {
    gguf::Writer writer(path.string());
    writer.set("general.architecture", Value::string("qwen2"));
    writer.set("qwen2.block_count", Value::scalar(uint32_t(1)));
    writer.set("qwen2.attention.head_count", Value::scalar(uint32_t(4)));
    for (const auto& [key, value] : metadata) writer.set(key, value);
    for (const Matrix& m : matrices)
        writer.add_tensor({.name = m.name, .ne = {m.row, m.rows, 1, 1}, .type = TensorType::F32});
    if (max_tensors) writer.split(gguf::SplitLimits{.max_tensors = max_tensors});
    writer.begin();
    for (const Matrix& m : matrices) {
        writer.begin_tensor(m.name);
        writer.write(std::as_bytes(std::span(m.values)));
    }
    writer.commit();
}

class Quantize : public testing::Test {
  protected:
    void SetUp() override { write_model(in(), small_model()); }

    std::string in() const { return folder_ / "in.gguf"; }
    std::string out() const { return folder_ / "out.gguf"; }
    test::Finished run(std::vector<std::string> words, const std::string& source = "") {
        std::vector<std::string> all = {test::binary().string(), "quantize", source.empty() ? in() : source, out()};
        all.insert(all.end(), words.begin(), words.end());
        return test::run(all);
    }
    void expect_refusal(const test::Finished& done, int status, const std::string& message) {
        EXPECT_EQ(done.status, status);
        EXPECT_TRUE(done.err.ends_with("minfer quantize: " + message + "\n")) << done.err;  // after lines of progress
        EXPECT_FALSE(std::filesystem::exists(out()));
    }
    TensorType type_of(const std::string& name) {
        return gguf::Gguf::open(out(), gguf::Gguf::Access::Read).tensor(name).type;
    }

    test::TemporaryFolder folder_;
};

TEST_F(Quantize, RefusesInTheSpecificationsWords) {
    expect_refusal(
        run({}), 1,
        std::string("--type is required (no silent default: a wrong target would write wrong weights); supported: ") +
            kTargets);
    expect_refusal(
        run({"--type", "iq2_xxs"}), 1,
        std::string("target \"iq2_xxs\" is a known GGUF type but minfer has no weight encoder for it (minfer can "
                    "only read it, so writing it would emit wrong weights); supported encoder targets: ") +
            kTargets);
    expect_refusal(run({"--type", "banana"}), 1,
                   std::string("unknown quant target \"banana\"; supported: ") + kTargets);
    expect_refusal(
        run({"--type", "q2_K_S"}), 1,
        "tensor 'blk.0.attn_v.weight' would be q2_K in a q2_K_S file, which takes an importance matrix: pass "
        "--imatrix FILE with an entry for it");
}

TEST_F(Quantize, WordsThatAreOffExitWithTwo) {
    EXPECT_EQ(run({"--type", "q4_0", "--nonsense"}).status, 2);
    EXPECT_EQ(run({"--type", "q4_0", "--pure", "--mixture"}).status, 2);
    EXPECT_EQ(run({"--type", "q4_0", "--tensor-type", "("}).status, 2);
    EXPECT_EQ(run({"--type", "q4_0", "--tensor-type", "(=q4_0"}).status, 2);
    EXPECT_EQ(run({"--type", "q4_0", "--tensor-type", "ffn=iq2_s"}).status, 2);
    EXPECT_EQ(run({"--type", "q4_0", "--override-kv", "a=int:x"}).status, 2);
    EXPECT_EQ(run({"--type", "q4_0", "--override-kv", "a=u8:1"}).status, 2);
    for (const char* number : {"nan", "inf", "-inf", "1e39", "-1e39", "1e999"})
        EXPECT_EQ(run({"--type", "q4_0", "--override-kv", std::string("a=float:") + number}).status, 2) << number;
    EXPECT_EQ(run({"--type", "q4_0", "--arith", "sparc"}).status, 2);
    EXPECT_EQ(run({"--type", "q4_0", "--split-max-size", "0"}).status, 2);
    for (const char* option : {"--output-tensor-type", "--token-embedding-type", "--split-max-size"})
        EXPECT_EQ(run({"--type", "q4_0", option, ""}).status, 2)
            << option;  // as an unset variable of a shell leaves it
    EXPECT_EQ(test::run({test::binary().string(), "quantize", in()}).status, 2);
    EXPECT_FALSE(std::filesystem::exists(out()));
}

TEST_F(Quantize, ALossySourceNeedsPermission) {
    ASSERT_EQ(run({"--type", "q4_K"}).status, 0);
    const std::string lossy = folder_ / "lossy.gguf";
    std::filesystem::rename(out(), lossy);
    expect_refusal(
        run({"--type", "q8_0"}, lossy), 1,
        "tensor 'token_embd.weight' has type q4_K; re-quantizing loses quality; start from an f16 or f32 GGUF or "
        "pass --allow-requantize");
    EXPECT_EQ(run({"--type", "q8_0", "--allow-requantize"}, lossy).status, 0);
    EXPECT_EQ(type_of("blk.0.ffn_down.weight"), TensorType::Q8_0);
}

TEST_F(Quantize, ASourceInPartsNeedsKeepSplitAndKeepsItsParts) {
    const std::string parts = folder_ / "parts.gguf";
    write_model(parts, small_model(), /*max_tensors=*/2);
    const std::string first = folder_ / "parts-00001-of-00002.gguf";
    expect_refusal(run({"--type", "q4_0"}, first), 1,
                   first +
                       " is a multi-part split (2 parts); quantize a single-file GGUF, then split the result, or pass "
                       "--keep-split");
    ASSERT_EQ(run({"--type", "q4_0", "--keep-split"}, first).status, 0);
    const auto result = gguf::Gguf::open((folder_ / "out-00001-of-00002.gguf").string());
    EXPECT_EQ(result.parts().size(), 2u);
    EXPECT_EQ(result.tensor("blk.0.ffn_down.weight").part, 1u);
    EXPECT_EQ(result.tensor("blk.0.ffn_down.weight").type, TensorType::Q4_0);
}

// As llama-gguf-split --no-tensor-first-split writes them.
TEST_F(Quantize, KeepSplitTakesAFirstPartOfMetadataAlone) {
    const std::vector<Matrix> model = small_model();
    gguf::Writer writer(folder_ / "parts.gguf");
    writer.set("general.architecture", Value::string("qwen2"));
    for (const Matrix& m : model)
        writer.add_tensor({.name = m.name, .ne = {m.row, m.rows, 1, 1}, .type = TensorType::F32});
    writer.split({1, 1, 2, 2}, 3);
    writer.begin();
    for (const Matrix& m : model) {
        writer.begin_tensor(m.name);
        writer.write(std::as_bytes(std::span(m.values)));
    }
    writer.commit();
    const auto done = run({"--type", "q4_0", "--pure", "--keep-split"}, folder_ / "parts-00001-of-00003.gguf");
    ASSERT_EQ(done.status, 0) << done.err;
    const auto result = gguf::Gguf::open((folder_ / "out-00001-of-00003.gguf").string());
    ASSERT_EQ(result.parts().size(), 3u);
    EXPECT_EQ(result.parts()[0].n_tensors, 0u);
    EXPECT_EQ(result.tensor("blk.0.attn_v.weight").part, 1u);
    EXPECT_EQ(result.tensor("blk.0.ffn_down.weight").part, 2u);
}

TEST_F(Quantize, CountsThatNoModelHasAreRefused) {
    const auto refused = [&](const std::string& key, const Value& value, const std::string& found) {
        write_model(in(), small_model(), 0,
                    {{"qwen2.attention.head_count_kv", Value::scalar(int64_t(-1))}, {key, value}});
        expect_refusal(run({"--type", "q4_K_M"}), 1,
                       in() + ": key '" + key + "': found " + found + ", expected 0 to 2147483647");
    };
    refused("qwen2.attention.head_count", Value::scalar(INT64_MIN), "-9223372036854775808");
    refused("qwen2.attention.head_count_kv", Value::scalar(int64_t(-1)), "-1");
    refused("qwen2.block_count", Value::scalar(INT64_MAX), "9223372036854775807");
    refused("qwen2.block_count", Value::scalar(uint32_t(1) << 31), "2147483648");
    const std::vector<int64_t> layers = {-7, 1};
    refused("qwen2.attention.head_count", Value::array(std::span<const int64_t>(layers)), "-7");
}

TEST_F(Quantize, NamesCannotCommandATerminal) {
    write_model(in(), {random_matrix("evil\x1b[2J.weight", 256, 64)});
    for (const std::vector<std::string>& words : {std::vector<std::string>{"--type", "q4_0", "--pure", "--dry-run"},
                                                  {"--type", "q4_0", "--pure"},
                                                  {"--type", "q6_K", "--pure", "--tensor-type", "evil=q4_K"},
                                                  {"--type", "q4_0", "--pure", "--tensor-type", "\x1b[a]=q8_0"}}) {
        const auto done = run(words);
        EXPECT_EQ(done.status, 0) << done.err;
        EXPECT_EQ((done.out + done.err).find('\x1b'), std::string::npos) << done.out << done.err;
    }
    EXPECT_NE(run({"--type", "q4_0", "--pure", "--dry-run"}).out.find("evil\\x1b[2J.weight  "), std::string::npos);
}

TEST_F(Quantize, AnEmptyOutputIsRefusedBeforeTheWork) {
    const auto done = test::run({test::binary().string(), "quantize", in(), "", "--type", "q4_0"});
    EXPECT_EQ(done.status, 2);
    EXPECT_EQ(done.err, "minfer quantize: OUT is empty, expected the file to write\n");
    const std::string longer = folder_ / std::string(256, 'n');
    const auto too_long = test::run({test::binary().string(), "quantize", in(), longer, "--type", "q4_0"});
    EXPECT_EQ(too_long.status, 1);
    EXPECT_EQ(too_long.err, "minfer quantize: " + longer + ": cannot create: File name too long\n");
}

TEST_F(Quantize, SplitMaxSizeWritesParts) {
    ASSERT_EQ(run({"--type", "q8_0", "--split-max-size", "150K"}).status, 0);
    EXPECT_GT(gguf::Gguf::open((folder_ / "out-00001-of-00002.gguf").string()).parts().size(), 1u);
    EXPECT_FALSE(std::filesystem::exists(out()));
}

TEST_F(Quantize, ValuesThatAreNotFiniteAreRefusedByPlace) {
    for (auto [value, what] : {std::pair{std::numeric_limits<float>::quiet_NaN(), "NaN"},
                               {-std::numeric_limits<float>::infinity(), "infinity"}}) {
        auto model = small_model();
        model[2].values[512 * 200 + 77] = value;
        write_model(in(), model);
        for (const char* type : {"q4_0", "q6_K", "f16", "f32"})
            expect_refusal(run({"--type", type}), 1,
                           in() + ": tensor 'blk.0.ffn_down.weight', row 200, column 77: found " + what +
                               ", expected finite weights");
    }
}

TEST_F(Quantize, AScaleThatOverflowsIsRefusedByPlace) {
    auto model = small_model();
    model[2].values[512 * 9 + 130] = 3e38f;
    write_model(in(), model);
    expect_refusal(
        run({"--type", "q8_0"}), 1,
        in() +
            ": tensor 'blk.0.ffn_down.weight', row 9, column 128: found an infinite scale once encoded as q8_0, "
            "expected finite weights");
}

TEST_F(Quantize, OptionsNameTypesAndKeys) {
    const auto done =
        run({"--type", "q4_K", "--tensor-type", "ffn_(up|down)=q6_K", "--tensor-type", "ffn=q2_K", "--override-kv",
             "general.name=str:A name", "--override-kv", "x.count=int:7", "--override-kv", "x.on=bool:true",
             "--override-kv", "x.scale=float:0.5", "--token-embedding-type", "q8_0"});
    ASSERT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(type_of("blk.0.ffn_down.weight"), TensorType::Q6_K);
    EXPECT_EQ(type_of("token_embd.weight"), TensorType::Q8_0);
    EXPECT_EQ(type_of("blk.0.attn_v.weight"), TensorType::Q4_K);
    const auto file = gguf::Gguf::open(out());
    EXPECT_EQ(file.get<std::string>("general.name"), "A name");
    EXPECT_EQ(file.get<uint32_t>("x.count"), 7u);
    EXPECT_EQ(file.get<bool>("x.on"), true);
    EXPECT_EQ(file.get<float>("x.scale"), 0.5f);
    EXPECT_EQ(file.get<uint32_t>("general.file_type"), 15u);
    EXPECT_NE(
        done.out.find("given the type that an option names: token_embd.weight (q8_0), blk.0.ffn_down.weight (q6_K)"),
        std::string::npos)
        << done.out;
    EXPECT_NE(done.out.find("1 tensor(s) kept at their source type"), std::string::npos) << done.out;
}

TEST_F(Quantize, DryRunSaysTheSizeAndWritesNothing) {
    const auto dry = run({"--type", "q5_1", "--dry-run"});
    ASSERT_EQ(dry.status, 0) << dry.err;
    EXPECT_FALSE(std::filesystem::exists(out()));
    ASSERT_EQ(run({"--type", "q5_1"}).status, 0);
    EXPECT_NE(
        dry.out.find(fmt::format("would write {}: {} bytes, 4 tensors", out(), std::filesystem::file_size(out()))),
        std::string::npos)
        << dry.out;
}

TEST_F(Quantize, InputAndOutputMayNotBeOneFile) {
    const std::string before = test::read_file(in());
    std::filesystem::create_hard_link(in(), out());
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"--type", "q4_0"}, {"--type", "q4_0", "--dry-run"}}) {
        const auto done = run(words);
        EXPECT_EQ(done.status, 1);
        EXPECT_EQ(done.err, "minfer quantize: " + out() + " is both input and output; write to another path\n");
    }
    EXPECT_EQ(test::read_file(in()), before);
}

TEST_F(Quantize, ALinkStaysALinkWhetherItsTargetIsThereOrNot) {
    for (const bool there : {false, true}) {
        const std::string target = folder_ / (there ? "there.gguf" : "not yet.gguf");
        if (there) test::write_file(target, "old");
        std::filesystem::create_symlink(std::filesystem::path(target).filename(), folder_ / "link");
        std::filesystem::create_symlink(folder_ / "link", out());  // one relative, one absolute
        ASSERT_EQ(run({"--type", "q4_0"}).status, 0);
        EXPECT_TRUE(std::filesystem::is_symlink(out()));
        EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
        EXPECT_EQ(gguf::Gguf::open(target).tensors().size(), 4u);
        std::filesystem::remove(folder_ / "link");
        std::filesystem::remove(out());
    }
    std::filesystem::create_symlink("out.gguf", out());
    EXPECT_EQ(run({"--type", "q4_0"}).err.substr(0, 17), "minfer quantize: ");
    EXPECT_TRUE(std::filesystem::is_symlink(out()));
    std::filesystem::remove(out());
    std::filesystem::create_symlink(folder_ / "no folder/x.gguf", out());
    const auto nowhere = run({"--type", "q4_0"});
    EXPECT_EQ(nowhere.status, 1);
    EXPECT_TRUE(nowhere.err.ends_with("cannot create: No such file or directory\n")) << nowhere.err;
}

TEST_F(Quantize, IntegersStayWhatTheyAre) {
    gguf::Writer writer(in());
    writer.set("general.architecture", Value::string("qwen2"));
    writer.add_tensor({.name = "ids", .ne = {3, 1, 1, 1}, .type = TensorType::I32});
    writer.add_tensor({.name = "a.weight", .ne = {4, 2, 1, 1}, .type = TensorType::I8});
    writer.add_tensor({.name = "half", .ne = {2, 1, 1, 1}, .type = TensorType::F16});
    writer.begin();
    for (const auto& [name, size] : {std::pair{"ids", 12}, {"a.weight", 8}, {"half", 4}}) {
        writer.begin_tensor(name);
        writer.write(std::vector<std::byte>(size_t(size), std::byte(1)));
    }
    writer.commit();
    const auto done = run({"--type", "f32"});
    ASSERT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(type_of("ids"), TensorType::I32);
    EXPECT_EQ(type_of("a.weight"), TensorType::I8);
    EXPECT_EQ(type_of("half"), TensorType::F32);
    std::filesystem::remove(out());
    expect_refusal(run({"--type", "q4_0", "--pure"}), 1,
                   "tensor 'a.weight' has type i8, which minfer cannot decode (no dequantizer for it)");
}

TEST_F(Quantize, NamesThatMatchNothingAreToldOf) {
    const auto done = run({"--type", "q4_K", "--tensor-type", "ffn_donw=q6_K", "--tensor-type", "ffn=q6_K"});
    EXPECT_EQ(done.status, 0);
    EXPECT_NE(done.err.find("quantize: warning: --tensor-type 'ffn_donw=q6_K' matches no tensor\n"), std::string::npos);
    EXPECT_EQ(done.err.find("'ffn=q6_K'"), std::string::npos) << done.err;
    const auto ignored = run({"--type", "f16", "--tensor-type", "ffn=q6_K"});
    EXPECT_NE(ignored.err.find("warning: --tensor-type 'ffn=q6_K' has no effect with --type f16\n"), std::string::npos);
    const auto kept = run({"--type", "q4_K", "--tensor-type", "attn_norm=q8_0"});
    EXPECT_NE(kept.err.find("warning: --tensor-type 'attn_norm=q8_0' has no effect: an earlier option decides what it "
                            "matches, or that is not encoded\n"),
              std::string::npos)
        << kept.err;
    const auto shadowed = run({"--type", "q4_K", "--tensor-type", "ffn=q6_K", "--tensor-type", "ffn_down=q8_0",
                               "--token-embedding-type", "q8_0", "--tensor-type", "token=q5_K"});
    EXPECT_EQ(shadowed.err.find("'ffn=q6_K'"), std::string::npos) << shadowed.err;
    EXPECT_NE(shadowed.err.find("'ffn_down=q8_0' has no effect: an earlier"), std::string::npos) << shadowed.err;
    EXPECT_NE(shadowed.err.find("'token=q5_K' has no effect: an earlier"), std::string::npos) << shadowed.err;
    for (const char* key : {"split.no=int:1", "split.count=int:2", "split.tensors.count=int:3"}) {
        const auto split = run({"--type", "q4_0", "--override-kv", key});
        EXPECT_EQ(split.status, 2);
        EXPECT_NE(split.err.find(std::string(key).substr(0, std::string(key).find('='))), std::string::npos);
    }
}

TEST_F(Quantize, PatternsMatchAsTheyDoInLlamaQuantize) {
    ASSERT_EQ(run({"--type", "q4_K", "--tensor-type", "ATTN_V=q6_K"}).status, 0);
    EXPECT_EQ(type_of("blk.0.attn_v.weight"), TensorType::Q6_K);
    ASSERT_EQ(run({"--type", "q4_K", "--tensor-type", R"(^blk\.\d+\.(?!ffn)\w{2,}[._[:alpha:]]*t$=q5_K)"}).status, 0);
    EXPECT_EQ(type_of("blk.0.attn_v.weight"), TensorType::Q5_K);
    EXPECT_EQ(type_of("blk.0.ffn_down.weight"), TensorType::Q4_K);
    EXPECT_EQ(type_of("token_embd.weight"), TensorType::Q4_K);
}

TEST_F(Quantize, APatternThatBacktracksEndsSoon) {
    const auto start = std::chrono::steady_clock::now();
    const auto done = run({"--type", "q4_K", "--dry-run", "--tensor-type", "(.*)*(.*)*(.*)*(.*)*Z=q4_0"});
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_NE(done.err.find("matches no tensor"), std::string::npos) << done.err;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST_F(Quantize, OutputThatCannotBePrintedIsAFailure) {
    for (const char* words : {"quantize in.gguf out.gguf --type q4_0 --dry-run", "info in.gguf", "verify in.gguf",
                              "--help", "quantize --help"}) {
        const auto done = test::run(
            {"bash", "-c",
             fmt::format("cd {} && {} {} >/dev/full", folder_.path().string(), test::binary().string(), words)});
        EXPECT_EQ(done.status, 1) << words;
        EXPECT_TRUE(done.err.ends_with("No space left on device\n")) << words << ": " << done.err;
    }
}

TEST_F(Quantize, TheImportanceMatrixIsNotOverwritten) {
    gguf::Writer writer(out());
    const std::string_view datasets[] = {"a.txt"};
    writer.set("imatrix.datasets", Value::strings(datasets));
    writer.set("imatrix.chunk_count", Value::scalar(uint32_t(1)));
    writer.set("imatrix.chunk_size", Value::scalar(uint32_t(512)));
    writer.add_tensor({.name = "blk.0.attn_v.weight.in_sum2", .ne = {256, 1, 1, 1}, .type = TensorType::F32});
    writer.add_tensor({.name = "blk.0.attn_v.weight.counts", .ne = {1, 1, 1, 1}, .type = TensorType::F32});
    writer.begin();
    const std::vector<float> sums(256, 1.0f), counts(1, 1.0f);
    writer.begin_tensor("blk.0.attn_v.weight.in_sum2");
    writer.write(std::as_bytes(std::span(sums)));
    writer.begin_tensor("blk.0.attn_v.weight.counts");
    writer.write(std::as_bytes(std::span(counts)));
    writer.commit();
    const std::string before = test::read_file(out());
    EXPECT_EQ(run({"--type", "q4_K", "--imatrix", out()}).status, 1);
    EXPECT_EQ(run({"--type", "q4_K", "--imatrix", out(), "--dry-run"}).status, 1);
    EXPECT_EQ(test::read_file(out()), before);
    EXPECT_EQ(run({"--type", "q4_K", "--imatrix", ""}).status, 1);
    EXPECT_EQ(test::read_file(out()), before);
}

TEST_F(Quantize, ASourceThatIsAlreadyOfTheTypeStillNeedsImportance) {
    ASSERT_EQ(run({"--type", "q2_K"}).status, 0);
    const std::string lossy = folder_ / "lossy.gguf";
    std::filesystem::rename(out(), lossy);
    EXPECT_EQ(run({"--type", "q2_K_S", "--allow-requantize"}, lossy).status, 1);
    EXPECT_FALSE(std::filesystem::exists(out()));
}

TEST_F(Quantize, TheBytesDoNotDependOnThreads) {
    ASSERT_EQ(run({"--type", "q4_K_M", "-t", "1"}).status, 0);
    const std::string one = test::read_file(out());
    for (const char* threads : {"2", "3", "7"}) {
        ASSERT_EQ(run({"--type", "q4_K_M", "-t", threads}).status, 0);
        EXPECT_EQ(test::read_file(out()), one) << threads;
    }
}

TEST_F(Quantize, KilledAtAnyMomentItLeavesWhatWasThere) {
    write_model(in(),
                {random_matrix("token_embd.weight", 2048, 2048), random_matrix("blk.0.attn_v.weight", 2048, 1024)});
    test::write_file(out(), "what was there before");
    std::mt19937 random(20);
    int killed = 0;
    for (int i = 0; i < 20; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            freopen("/dev/null", "w", stdout);
            freopen("/dev/null", "w", stderr);
            execl(test::binary().c_str(), "minfer", "quantize", in().c_str(), out().c_str(), "--type", "q3_K", nullptr);
            _exit(127);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % 60));
        kill(child, SIGKILL);
        int status = 0;
        waitpid(child, &status, 0);
        if (!WIFSIGNALED(status)) {  // it was done before: then the output is whole
            EXPECT_EQ(gguf::Gguf::open(out()).tensors().size(), 2u);
            test::write_file(out(), "what was there before");
            continue;
        }
        ++killed;
        const std::string now = test::read_file(out());
        EXPECT_TRUE(now == "what was there before" || gguf::Gguf::open(out()).tensors().size() == 2u);
        test::write_file(out(), "what was there before");
    }
    EXPECT_GT(killed, 0);
    size_t left = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
        const auto name = entry.path().filename();
        if (name != "in.gguf" && name != "out.gguf") ++left;
    }
    EXPECT_EQ(left, 0u);
}

TEST_F(Quantize, AFullDiskIsAClearErrorAndLeavesNothing) {
    const pid_t child = fork();
    if (child == 0) {  // a file may not grow past 64 KiB here, which the write meets as it would a full disk
        signal(SIGXFSZ, SIG_IGN);
        const rlimit limit = {65536, 65536};
        setrlimit(RLIMIT_FSIZE, &limit);
        freopen((folder_ / "err").c_str(), "w", stderr);
        execl(test::binary().c_str(), "minfer", "quantize", in().c_str(), out().c_str(), "--type", "q8_0", nullptr);
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_NE(test::read_file(folder_ / "err").find("out.gguf: cannot write"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(out()));
}

}  // namespace
}  // namespace minfer
