// What packed cells cost in quality: perplexity on the evaluation text, against f32 cells.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/engine.h"
#include "engine/perplexity.h"
#include "support/support.h"

namespace minfer::engine {
namespace {

// With weights in F16: integer weights round activations to 8 bits, which makes noise of any small change, several
// times what cells cost, until it is averaged over very many chunks.
TEST(CellTypes, CostLittlePerplexity) {
    const std::filesystem::path model = test::models_dir() / "smollm2-135m-instruct-q4_1.gguf";
    const std::filesystem::path text = test::shared_dir() / "text" / "eval.txt";
    MINFER_SKIP_WITHOUT(model);
    MINFER_SKIP_WITHOUT(text);
    constexpr size_t kChunks = 2;
    const test::TemporaryFolder folder;
    const std::string path = folder / "f16.gguf";
    ASSERT_EQ(test::run({test::binary(), "quantize", model, path, "--type", "f16", "--allow-requantize"}).status, 0);
    const auto measure = [&](kv::CellType cells) {
        Engine engine(path, {.n_ctx = kPerplexityChunk, .cell_type = cells});
        const std::vector<TokenId> tokens = engine.tokenizer().encode(test::read_file(text));
        return perplexity(engine, tokens, kChunks, [](size_t, size_t, double) {}).perplexity;
    };
    const double f32 = measure(kv::CellType::F32), f16 = measure(kv::CellType::F16), q8_0 = measure(kv::CellType::Q8_0);
    fmt::print("f32 {:.5f}, f16 {:+.4f}%, q8_0 {:+.4f}%\n", f32, (f16 / f32 - 1) * 100, (q8_0 / f32 - 1) * 100);
    EXPECT_NE(f16, f32);
    EXPECT_NE(q8_0, f16);
    EXPECT_LE(std::abs(f16 / f32 - 1), 0.02e-2);
    EXPECT_LE(std::abs(q8_0 / f32 - 1), 0.1e-2);
}

}  // namespace
}  // namespace minfer::engine
