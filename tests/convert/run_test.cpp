// The streaming half: two threads, any order of pieces, one file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>

#include "base/error.h"
#include "gguf/reader.h"
#include "tiny_checkpoint.h"

namespace minfer::test {
namespace {

using convert::Conversion;
using convert::plan_conversion;
using testing::HasSubstr;

// A Llama of 2 layers with rows of 1024 values, so that tensors take several pieces: query rows in whole heads, or row
// by row where `head_dim` makes a head larger than a piece. Values count up, so that each place is told from others.
class SeveralPieces : public TinyCheckpoint {
  public:
    explicit SeveralPieces(uint64_t head_dim);
};

SeveralPieces::SeveralPieces(uint64_t head_dim) : TinyCheckpoint("llama") {
    constexpr uint64_t kEmbd = 1024, kVocab = 700;
    const uint64_t n_head = 1024 / head_dim;
    config["hidden_size"] = kEmbd;
    config["num_attention_heads"] = n_head;
    config["num_key_value_heads"] = n_head;
    config["head_dim"] = head_dim;
    config["vocab_size"] = kVocab;
    for (TinyTensor& t : tensors) {
        const bool attention = t.name.find("self_attn") != std::string::npos;
        for (uint64_t& d : t.shape) d = d == 300 ? kVocab : attention || d == 32 ? kEmbd : d;
        t.dtype = "F32";
        uint64_t n = 1;
        for (const uint64_t d : t.shape) n *= d;
        std::vector<float> values(n);
        for (size_t i = 0; i < n; ++i) values[i] = float(i + t.name.size());
        t.bytes.assign(reinterpret_cast<const char*>(values.data()), n * sizeof(float));
    }
}

std::vector<float> floats(const gguf::Gguf& model, const std::string& name) {
    for (const gguf::TensorInfo& info : model.tensors()) {
        if (info.name != name) continue;
        const std::span<const std::byte> bytes = model.data(info);
        std::vector<float> out(bytes.size() / sizeof(float));
        std::memcpy(out.data(), bytes.data(), bytes.size());
        return out;
    }
    throw std::runtime_error("no tensor " + name);
}

TEST(Run, EveryValueIsAtItsPlace) {
    for (const uint64_t head_dim : {64, 512, 1024}) {
        const SeveralPieces tiny(head_dim);
        tiny.write();
        const convert::ConvertOptions options = tiny.options(gguf::TensorType::F32);
        plan_conversion(options).run({});
        const gguf::Gguf model = gguf::Gguf::open(options.output);
        const std::vector<float> embd = floats(model, "token_embd.weight");
        ASSERT_EQ(embd.size(), 700u * 1024);
        for (size_t i = 0; i < embd.size(); ++i)
            ASSERT_EQ(embd[i], float(i + std::string("model.embed_tokens.weight").size()));
        const std::vector<float> q = floats(model, "blk.1.attn_q.weight");
        const size_t offset = std::string("model.layers.1.self_attn.q_proj.weight").size();
        for (size_t row = 0; row < 1024; ++row) {
            const size_t in_head = row % head_dim;
            const size_t from = row - in_head + in_head / 2 + in_head % 2 * head_dim / 2;
            for (size_t column = 0; column < 1024; ++column)
                ASSERT_EQ(q[row * 1024 + column], float(from * 1024 + column + offset)) << head_dim << " " << row;
        }
    }
}

TEST(Run, PartsHoldWhatTheWholeFileHolds) {
    const SeveralPieces tiny(64);
    tiny.write();
    convert::ConvertOptions options = tiny.options(gguf::TensorType::BF16);
    plan_conversion(options).run({});
    const gguf::Gguf whole = gguf::Gguf::open(options.output);
    const std::filesystem::path folder = std::filesystem::path(options.output).parent_path();
    options.output = (folder / "part.gguf").string();
    options.split.max_bytes = 3'000'000;
    Conversion conversion = plan_conversion(options);
    const auto files = conversion.writer().plan();
    ASSERT_GT(files.size(), 3u);
    conversion.run({});
    const gguf::Gguf parts = gguf::Gguf::open(files[0].path);
    ASSERT_EQ(parts.tensors().size(), whole.tensors().size());
    for (size_t i = 0; i < whole.tensors().size(); ++i)
        EXPECT_TRUE(std::ranges::equal(parts.data(parts.tensors()[i]), whole.data(whole.tensors()[i])))
            << whole.tensors()[i].name;
}

TEST(Run, ReportsEveryByteOnce) {
    const SeveralPieces tiny(64);
    tiny.write();
    Conversion conversion = plan_conversion(tiny.options());
    std::map<std::string, uint64_t> reported;
    conversion.run([&](const convert::PlannedTensor& t, uint64_t bytes) { reported[t.spec.name] += bytes; });
    ASSERT_EQ(reported.size(), conversion.tensors().size());
    for (const convert::PlannedTensor& t : conversion.tensors())
        EXPECT_EQ(reported[t.spec.name], t.spec.nbytes()) << t.spec.name;
}

TEST(Run, OfSeveralFaultsTheFirstIsNamed) {
    SeveralPieces tiny(64);
    for (const char* name : {"model.embed_tokens.weight", "model.layers.0.mlp.down_proj.weight"}) {
        std::string& bytes = tiny.tensor(name).bytes;
        for (size_t at = bytes.size() - 4; at > bytes.size() / 2; at -= 4096)  // infinities in many pieces
            bytes.replace(at, 4, std::string("\0\0\x80\x7f", 4));
    }
    tiny.write();
    for (int round = 0; round < 10; ++round) {
        const std::string message =
            message_of<Error>([&] { plan_conversion(tiny.options(gguf::TensorType::Q8_0)).run({}); });
        EXPECT_THAT(message, HasSubstr("model.embed_tokens.weight': infinity at row 350, column 1023"));
    }
    EXPECT_FALSE(std::filesystem::exists(tiny.options().output));
}

TEST(Run, AnExceptionOfTheReportEndsIt) {
    const SeveralPieces tiny(64);
    tiny.write();
    int calls = 0;
    EXPECT_EQ(message_of<Error>([&] {
                  plan_conversion(tiny.options()).run([&](const convert::PlannedTensor&, uint64_t) {
                      if (++calls == 3) throw Error("enough");
                  });
              }),
              "enough");
    EXPECT_FALSE(std::filesystem::exists(tiny.options().output));
}

}  // namespace
}  // namespace minfer::test
