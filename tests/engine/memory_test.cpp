// Weights stay in the mapped file: what a model takes of anonymous memory is its cache, its activations, and little
// more.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "engine/engine.h"
#include "support/support.h"

namespace minfer::engine {
namespace {

// Resident anonymous memory of this process, in bytes.
size_t anonymous_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("RssAnon:")) return std::stoul(line.substr(8)) * 1024;
    ADD_FAILURE() << "no RssAnon in /proc/self/status";
    return 0;
}

class Memory : public testing::TestWithParam<const char*> {};

TEST_P(Memory, IsCacheActivationsAndLittleMore) {
    const std::filesystem::path path = test::models_dir() / (std::string(GetParam()) + ".gguf");
    MINFER_SKIP_WITHOUT(path);
    constexpr size_t kContext = 2048, kDecoded = 4;
    Engine engine(path.string(), {.n_ctx = kContext});
    Batch batch;
    for (size_t i = 0; i < kContext - kDecoded; ++i) batch.push_back({TokenId(i % 1000), 0, false});
    batch.back().wants_logits = true;
    size_t n_rows = 0;
    const auto count = [&](const Engine::Logits& logits) { n_rows += logits.rows.size(); };
    engine.run(batch, count);
    for (size_t i = 0; i < kDecoded; ++i) engine.run({{TokenId(i), 0, true}}, count);
    EXPECT_EQ(n_rows, 1 + kDecoded);

    const runtime::Scheduler::Statistics s = engine.scheduler().statistics();
    EXPECT_EQ(s.kv_bytes, engine.model().kv_layout(kContext, kv::CellType::F32).total_bytes());
    const size_t bound = s.kv_bytes + s.arena_bytes + (size_t(64) << 20);
    EXPECT_LE(anonymous_bytes(), bound);
    EXPECT_LE(s.arena_bytes, size_t(128) << 20) << "activations of 512 tokens";
    fmt::print("anonymous {} MiB; cache {} MiB, activations {} MiB\n", anonymous_bytes() >> 20, s.kv_bytes >> 20,
               s.arena_bytes >> 20);
}

INSTANTIATE_TEST_SUITE_P(Models, Memory,
                         testing::Values("smollm2-135m-instruct-q4_1", "qwen2.5-coder-0.5b-instruct-q4_k_m"),
                         [](const auto& p) {
                             return std::string(p.param).starts_with("smollm2") ? "smollm2" : "qwen2";
                         });

}  // namespace
}  // namespace minfer::engine
