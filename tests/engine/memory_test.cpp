// What a model takes of memory: its weights once, its cache, its activations, and little more. Mapped weights are not
// the process's own; repacked ones are, and the mapped pages that they came from are let go.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "engine/engine.h"
#include "support/support.h"

namespace minfer::engine {
namespace {

// A figure of this process in bytes: RssAnon, its resident anonymous memory, or VmHWM, the most that was ever resident.
size_t bytes_of(const std::string& name) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(name + ":")) return std::stoul(line.substr(name.size() + 1)) * 1024;
    ADD_FAILURE() << "no " << name << " in /proc/self/status";
    return 0;
}

struct Way {
    const char* model;
    bool repack;
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.model << (way.repack ? ", repacked" : ", mapped"); }

class Memory : public testing::TestWithParam<Way> {};

TEST_P(Memory, IsWeightsCacheActivationsAndLittleMore) {
    const std::filesystem::path path = test::models_dir() / (std::string(GetParam().model) + ".gguf");
    MINFER_SKIP_WITHOUT(path);
    constexpr size_t kContext = 1024, kDecoded = 4;
    std::ofstream("/proc/self/clear_refs") << 5;  // VmHWM starts again from what is resident now
    const size_t before = bytes_of("VmHWM");
    Engine engine(path.string(), {.n_ctx = kContext, .repack = GetParam().repack});
    const size_t loaded = bytes_of("VmHWM");
    Batch batch;
    for (size_t i = 0; i < kContext - kDecoded; ++i) batch.push_back({TokenId(i % 1000), 0, false});
    batch.back().wants_logits = true;
    size_t n_rows = 0;
    const auto count = [&](const Engine::Logits& logits) { n_rows += logits.rows.size(); };
    engine.run(batch, count);
    for (size_t i = 0; i < kDecoded; ++i) engine.run({{TokenId(i), 0, true}}, count);
    EXPECT_EQ(n_rows, 1 + kDecoded);

    constexpr size_t kLittle = size_t(64) << 20;
    const runtime::Scheduler::Statistics s = engine.scheduler().statistics();
    EXPECT_EQ(s.kv_bytes, engine.model().kv_layout(kContext, kv::CellType::F32).total_bytes());
    EXPECT_LE(s.arena_bytes, size_t(128) << 20) << "activations of 512 tokens";
    const size_t weights = GetParam().repack ? size_t(engine.file().file_size()) : 0;
    EXPECT_LE(bytes_of("RssAnon"), weights + s.kv_bytes + s.arena_bytes + kLittle);
    if (GetParam().repack) {
        EXPECT_LE(loaded - before, weights + kLittle) << "the most that was resident while it was loaded";
    }
    fmt::print("anonymous {} MiB; weights {} MiB, cache {} MiB, activations {} MiB; at most {} MiB while loading\n",
               bytes_of("RssAnon") >> 20, weights >> 20, s.kv_bytes >> 20, s.arena_bytes >> 20,
               (loaded - before) >> 20);
}

INSTANTIATE_TEST_SUITE_P(
    Models, Memory,
    testing::Values(Way{"smollm2-135m-instruct-q4_1", false}, Way{"smollm2-135m-instruct-q4_1", true},
                    Way{"qwen2.5-coder-0.5b-instruct-q4_k_m", false}, Way{"qwen2.5-coder-0.5b-instruct-q4_k_m", true}),
    [](const auto& p) {
        return std::string(std::string(p.param.model).starts_with("smollm2") ? "smollm2" : "qwen2") +
               (p.param.repack ? "_repacked" : "_mapped");
    });

}  // namespace
}  // namespace minfer::engine
