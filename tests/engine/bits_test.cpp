// The promise: a model's logits are the same bits on every instruction set, with any threads, in any batch, in any
// chunks, fused or not. And by recorded digests: with any compiler, and tomorrow.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "base/cpu_features.h"
#include "engine/engine.h"
#include "engine/scoped_environment.h"
#include "model/tiny_file.h"
#include "support/support.h"

namespace minfer::engine {
namespace {

constexpr gguf::TensorType kTypes[] = {
    gguf::TensorType::F32,  gguf::TensorType::F16,    gguf::TensorType::BF16,   gguf::TensorType::Q4_0,
    gguf::TensorType::Q4_1, gguf::TensorType::Q5_0,   gguf::TensorType::Q5_1,   gguf::TensorType::Q8_0,
    gguf::TensorType::Q2_K, gguf::TensorType::Q3_K,   gguf::TensorType::Q4_K,   gguf::TensorType::Q5_K,
    gguf::TensorType::Q6_K, gguf::TensorType::IQ4_NL, gguf::TensorType::IQ4_XS,
};

// Two tiles of attention and a part of a third; panels of 16 rows with a rest (301 tokens of vocabulary).
constexpr size_t kTokens = 139;
constexpr test::TinyShape kShape = {.n_head = 4, .n_head_kv = 2, .head_dim = 64, .n_ff = 512, .n_vocab = 301};

std::vector<TokenId> some_tokens(uint32_t seed, size_t n) {
    std::vector<TokenId> ids(n);
    for (TokenId& id : ids) {
        seed = seed * 1664525u + 1013904223u;
        id = TokenId((seed >> 8) % kShape.n_vocab);
    }
    return ids;
}

enum class Set { Scalar, Avx2, Avx512, Best };

struct Setting {
    Set set = Set::Best;
    int n_threads = 1;
    size_t n_batch = 512;
    std::string no_fusion = "";
    kv::CellType cells = kv::CellType::F32;
    bool repack = true;
};

EngineOptions options(const Setting& s, size_t n_sequence = 1) {
    return {.n_ctx = 512,
            .n_batch = s.n_batch,
            .n_sequence = n_sequence,
            .n_threads = s.n_threads,
            .cell_type = s.cells,
            .fusion = runtime::FusionOptions::without(s.no_fusion),
            .repack = s.repack};
}

using Bits = std::vector<uint32_t>;

// The logits after each token, those of token t at t * n_vocab.
Bits run(const std::filesystem::path& path, const Setting& s) {
    const test::ScopedEnvironment avx2("MINFER_NO_AVX2", s.set == Set::Scalar ? "1" : "");
    const test::ScopedEnvironment avx512("MINFER_NO_AVX512", s.set <= Set::Avx2 ? "1" : "");
    const test::ScopedEnvironment vnni("MINFER_NO_VNNI", s.set <= Set::Avx512 ? "1" : "");
    Engine engine(path.string(), options(s));
    Batch batch;
    for (const TokenId id : some_tokens(1, kTokens)) batch.push_back({id, 0, true});
    Bits bits;
    engine.run(batch, [&](const Engine::Logits& logits) {
        for (const float x : logits.values) bits.push_back(std::bit_cast<uint32_t>(x));
    });
    return bits;
}

uint64_t digest(const Bits& bits) {  // FNV-1a
    uint64_t h = 14695981039346656037u;
    for (const uint32_t word : bits)
        for (int shift = 0; shift < 32; shift += 8) h = (h ^ ((word >> shift) & 0xff)) * 1099511628211u;
    return h;
}

// Of the scalar set's logits with GCC 12 on x86-64.
const std::map<std::string_view, uint64_t> kDigests = {
    {"f32", 0x5712fb954a2a8191u},  {"f16", 0x3e03da47d495f054u},    {"bf16", 0xb29d75ed4aef901fu},
    {"q4_0", 0x7cbe69611bc15df2u}, {"q4_1", 0xbc313925e8f3b518u},   {"q5_0", 0xe0271014cbc512cbu},
    {"q5_1", 0x8caa6fe5b3bab4d6u}, {"q8_0", 0x4e2dfcd5c617d525u},   {"q2_K", 0x84d2c99982a3b631u},
    {"q3_K", 0xdc6ef5fac2e331f4u}, {"q4_K", 0xc12d90a01e8b6a50u},   {"q5_K", 0x17a10f7d83caecc2u},
    {"q6_K", 0xbad0ae0ba631cab6u}, {"iq4_nl", 0x1535ddcb5e0087ecu}, {"iq4_xs", 0xe9c8b4861b85623au},
};

class EachType : public testing::TestWithParam<gguf::TensorType> {
  protected:
    // One architecture a type, so that all of them have their turn.
    void SetUp() override {
        constexpr const char* kArchitectures[] = {"llama", "qwen2", "qwen3"};
        test::TinyShape shape = kShape;
        shape.type = GetParam();
        test::tiny_file(kArchitectures[size_t(GetParam()) % 3], shape).write(path());
        reference_ = run(path(), {.set = Set::Scalar, .repack = false});
        ASSERT_EQ(reference_.size(), kTokens * kShape.n_vocab);
    }

    std::filesystem::path path() const { return folder_ / "model.gguf"; }

    test::TemporaryFolder folder_;
    Bits reference_;  // scalar kernels, one thread, in one piece, alone, weights as in the file
};

TEST_P(EachType, SameOnEachInstructionSet) {
    const CpuFeatures cpu = detect_cpu_features();
    for (const bool repack : {false, true})
        for (const Set set : {Set::Avx2, Set::Avx512, Set::Best})
            EXPECT_EQ(reference_, run(path(), {.set = set, .repack = repack})) << int(set) << " " << repack;
    EXPECT_EQ(reference_, run(path(), {.set = Set::Scalar, .n_threads = 2, .n_batch = 5}));
    if (!cpu.avx2 || !cpu.avx512vnni)
        GTEST_SKIP() << "this CPU lacks AVX2 or AVX-512 VNNI, so fewer sets were compared";
}

TEST_P(EachType, SameWithAnyThreadsAndChunks) {
    for (const int n_threads : {1, 2, 3, 7})
        for (const size_t n_batch : {1, 7, 64, 512})
            EXPECT_EQ(reference_, run(path(), {.n_threads = n_threads, .n_batch = n_batch}))
                << n_threads << " threads, chunks of " << n_batch;
}

TEST_P(EachType, SameAloneAndAmongOthers) {
    Engine engine(path().string(), options({.n_threads = 2}, 3));
    const std::vector<TokenId> mine = some_tokens(1, kTokens);
    const std::vector<TokenId> first = some_tokens(2, 90), second = some_tokens(3, 200);
    // Sequence 1 is ours; the others come in between in an uneven way, some of them wanting logits too. The cells of
    // all three mix, and those of the first sequence are given back half way.
    Bits bits(reference_.size());
    size_t at[3] = {};
    const std::span<const TokenId> tokens[3] = {first, mine, second};
    uint32_t state = 99;
    while (at[1] < mine.size()) {
        if (at[1] > 60 && engine.sequences().length(0) > 0) {
            engine.sequences().remove(0);
            at[0] = first.size();
        }
        Batch batch;
        std::vector<size_t> position;  // of ours in the batch
        for (int i = 0; i < 20; ++i) {
            state = state * 1664525u + 1013904223u;
            const size_t s = (state >> 16) % 3;
            if (at[s] == tokens[s].size()) continue;
            position.push_back(s == 1 ? at[s] : kTokens);
            batch.push_back({tokens[s][at[s]++], SequenceId(s), s == 1 || (state >> 24) % 2 == 0});
        }
        if (batch.empty()) continue;
        engine.run(batch, [&](const Engine::Logits& logits) {
            for (size_t i = 0; i < logits.rows.size(); ++i) {
                const size_t p = position[logits.rows[i]];
                if (p == kTokens) continue;
                const std::span<const float> row = logits.values.subspan(i * kShape.n_vocab, kShape.n_vocab);
                std::ranges::transform(row, bits.begin() + std::ptrdiff_t(p * kShape.n_vocab),
                                       [](float x) { return std::bit_cast<uint32_t>(x); });
            }
        });
    }
    EXPECT_EQ(reference_, bits);
}

TEST_P(EachType, SameFusedAndUnfused) {
    for (const char* off : {"all", "swiglu", "bias_rope", "qkv", "gate_up"})
        for (const size_t n_batch : {1, 64})
            EXPECT_EQ(reference_, run(path(), {.n_threads = 2, .n_batch = n_batch, .no_fusion = off}))
                << off << ", chunks of " << n_batch;
}

// Cells of every type: read back in their type, also within the chunk that wrote them.
TEST_P(EachType, SameWithPackedCells) {
    for (const kv::CellType cells : {kv::CellType::F16, kv::CellType::Q8_0}) {
        const Bits expected = run(path(), {.set = Set::Scalar, .cells = cells});
        EXPECT_NE(expected, reference_);
        for (const Set set : {Set::Avx2, Set::Best})
            for (const size_t n_batch : {1, 7, 64, 512})
                EXPECT_EQ(expected, run(path(), {.set = set, .n_threads = 3, .n_batch = n_batch, .cells = cells}))
                    << kv::type_name(cells) << ", chunks of " << n_batch;
    }
}

// Logits that are all alike would pass every test above.
TEST_P(EachType, SameAsRecorded) {
    const std::string_view name = gguf::type_name(GetParam());
    const auto recorded = kDigests.find(name);
    EXPECT_EQ(fmt::format("{:#x}", digest(reference_)),
              recorded == kDigests.end() ? "" : fmt::format("{:#x}", recorded->second))
        << name;
    EXPECT_GT(std::set<uint32_t>(reference_.begin(), reference_.end()).size(), reference_.size() / 2);
}

INSTANTIATE_TEST_SUITE_P(Bits, EachType, testing::ValuesIn(kTypes),
                         [](const auto& p) { return std::string(gguf::type_name(p.param)); });

}  // namespace
}  // namespace minfer::engine
