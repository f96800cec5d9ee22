// The floor of a pass, counted by hand, and that a timed case leaves the engine as it found it.
#include "engine/benchmark.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "model/tiny_file.h"
#include "support/support.h"

namespace minfer::engine {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// 2 layers, 4 heads of 8, 2 key heads, 48 wide in between, a vocabulary of 40.
constexpr size_t kEmbd = 32, kKv = 16, kFf = 48, kVocab = 40, kLayers = 2;
constexpr size_t kLayerWeights = kEmbd * kEmbd * 2 + kEmbd * kKv * 2 + kEmbd * kFf * 3;

class BenchmarkTest : public testing::Test {
  protected:
    std::string write(gguf::TensorType type = gguf::TensorType::F32) {
        const std::string path = folder_ / "model.gguf";
        test::TinyShape shape;
        shape.type = type;
        if (type != gguf::TensorType::F32) shape.n_ff = 64;
        test::tiny_file("llama", shape).write(path);
        return path;
    }
    test::TemporaryFolder folder_;
};

TEST_F(BenchmarkTest, CountsTheMultiplyAddsOfADecodeStep) {
    Engine engine(write(), {.n_ctx = 64, .n_threads = 1});
    Benchmark benchmark(engine);
    const Work work = benchmark.work({.n_gen = 1, .depth = 9});
    EXPECT_EQ(work.integer_multiply_adds, 0u);
    EXPECT_EQ(work.float_multiply_adds, kLayers * kLayerWeights + kEmbd * kVocab + kLayers * 10 * kEmbd * 2);
}

TEST_F(BenchmarkTest, CountsTheBytesOfADecodeStep) {
    Engine engine(write(), {.n_ctx = 64, .n_threads = 1});
    Benchmark benchmark(engine);
    const Work work = benchmark.work({.n_gen = 1, .depth = 9});
    const size_t norms = (2 * kLayers + 1) * kEmbd;
    EXPECT_EQ(work.weight_bytes, 4 * (kLayers * kLayerWeights + kEmbd * kVocab + kEmbd + norms));
    EXPECT_EQ(work.kv_bytes, kLayers * (10 + 1) * 2 * kKv * 4) << "ten cells read and one written, in each layer";
}

TEST_F(BenchmarkTest, IntegersAreCountedApart) {
    Engine engine(write(gguf::TensorType::Q8_0), {.n_ctx = 64, .n_threads = 1});
    Benchmark benchmark(engine);
    const Work work = benchmark.work({.n_gen = 1});
    const size_t layer = kEmbd * kEmbd * 2 + kEmbd * kKv * 2 + kEmbd * 64 * 3;
    EXPECT_EQ(work.integer_multiply_adds, kLayers * layer + kEmbd * kVocab);
    EXPECT_EQ(work.float_multiply_adds, kLayers * kEmbd * 2) << "attention alone";
}

TEST_F(BenchmarkTest, APromptReadsTheWeightsOnceAPass) {
    Engine engine(write(), {.n_ctx = 64, .n_batch = 10, .n_threads = 1});
    Benchmark benchmark(engine);
    const Work ten = benchmark.work({.n_prompt = 10}), twenty = benchmark.work({.n_prompt = 20});
    const Work rest = benchmark.work({.n_prompt = 10, .depth = 10});
    // The first pass of twenty gives no logits; the second is a prompt of ten at depth ten.
    EXPECT_LT(twenty.bytes() - rest.bytes(), ten.bytes());
    EXPECT_GT(twenty.bytes() - rest.bytes(), 4 * (kLayers - 1) * kLayerWeights);
    EXPECT_GT(rest.multiply_adds(), ten.multiply_adds());
    EXPECT_EQ(rest.weight_bytes, ten.weight_bytes);
}

TEST_F(BenchmarkTest, SequencesShareTheWeights) {
    Engine engine(write(), {.n_ctx = 64, .n_sequence = 3, .n_threads = 1});
    Benchmark benchmark(engine);
    const Work one = benchmark.work({.n_gen = 1, .depth = 5}),
               three = benchmark.work({.n_gen = 1, .depth = 5, .n_sequence = 3});
    EXPECT_EQ(three.multiply_adds(), 3 * one.multiply_adds());
    EXPECT_EQ(three.kv_bytes, 3 * one.kv_bytes);
    EXPECT_EQ(three.weight_bytes, one.weight_bytes + 2 * kEmbd * 4) << "and but two more rows of the embedding";
}

TEST_F(BenchmarkTest, LeavesTheSequencesAtTheDepth) {
    Engine engine(write(), {.n_ctx = 64, .n_sequence = 2, .n_threads = 1});
    Benchmark benchmark(engine);
    EXPECT_GT(benchmark.run({.n_gen = 3, .depth = 7, .n_sequence = 2}), 0.0);
    EXPECT_EQ(engine.sequences().length(0), 7);
    EXPECT_EQ(engine.sequences().length(1), 7);
    benchmark.run({.n_prompt = 4, .depth = 2});
    EXPECT_EQ(engine.sequences().length(0), 2);
    EXPECT_EQ(engine.sequences().length(1), 0);
}

TEST_F(BenchmarkTest, TheHashIsOfTheLogitsAlone) {
    const auto hash = [&](size_t n_batch, int n_threads, const BenchmarkCase& before, const BenchmarkCase& c) {
        Engine engine(write(), {.n_ctx = 64, .n_batch = n_batch, .n_sequence = 2, .n_threads = n_threads});
        Benchmark benchmark(engine);
        benchmark.run(before);
        return benchmark.hash(c);
    };
    const BenchmarkCase c{.n_gen = 4, .depth = 11, .n_sequence = 2};
    const uint64_t expected = hash(512, 1, {.n_gen = 1}, c);
    EXPECT_EQ(hash(3, 2, {.n_prompt = 20}, c), expected);
    EXPECT_NE(hash(512, 1, {.n_gen = 1}, {.n_gen = 4, .depth = 12, .n_sequence = 2}), expected);
}

TEST_F(BenchmarkTest, WhatDoesNotFitIsRefused) {
    Engine engine(write(), {.n_ctx = 8, .n_threads = 1});
    Benchmark benchmark(engine);
    EXPECT_THAT([&] { benchmark.run({.n_gen = 4, .depth = 5}); },
                ThrowsMessage<ShapeError>(HasSubstr("1 sequences of 9 tokens do not fit an engine of 1 and 8")));
    EXPECT_THAT([&] { benchmark.run({.n_gen = 1, .n_sequence = 2}); }, ThrowsMessage<ShapeError>(HasSubstr("2 seq")));
}

}  // namespace
}  // namespace minfer::engine
