#include "engine/benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <span>
#include <vector>

#include "base/error.h"

namespace minfer::engine {

TokenId benchmark_token(SequenceId sequence, size_t position, size_t n_vocab) {
    // SplitMix64 (Steele, Lea & Flood 2014) of the place.
    uint64_t x = (uint64_t(sequence) << 32 | position) + 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return TokenId((x ^ x >> 31) % n_vocab);
}

// Tokens first .. first + n of each sequence, counted from the depth.
void Benchmark::make_pass(const BenchmarkCase& c, size_t first, size_t n) {
    batch_.clear();
    for (size_t s = 0; s < c.n_sequence; ++s)
        for (size_t i = first; i < first + n; ++i)
            batch_.push_back({benchmark_token(SequenceId(s), c.depth + i, engine_.n_vocab()), SequenceId(s),
                              c.n_gen != 0 || i + 1 == c.n_prompt});
}

void Benchmark::go_to_depth(const BenchmarkCase& c) {
    kv::Sequences& sequences = engine_.sequences();
    if (c.n_sequence > size_t(sequences.n_sequence()) || c.n_cell() > engine_.n_ctx())
        throw ShapeError(fmt::format("benchmark: {} sequences of {} tokens do not fit an engine of {} and {}",
                                     c.n_sequence, c.depth + c.n_prompt + c.n_gen, sequences.n_sequence(),
                                     engine_.n_ctx()));
    forget(c);
    for (size_t s = 0; s < c.n_sequence; ++s) {
        batch_.clear();
        for (size_t i = size_t(sequences.length(SequenceId(s))); i < c.depth; ++i)
            batch_.push_back({benchmark_token(SequenceId(s), i, engine_.n_vocab()), SequenceId(s), false});
        if (!batch_.empty()) engine_.run(batch_, [](const Engine::Logits&) {});
    }
}

// Sequences that the case does not have are emptied, for their cells; what the others hold up to its depth stays.
void Benchmark::forget(const BenchmarkCase& c) {
    kv::Sequences& sequences = engine_.sequences();
    for (SequenceId s = 0; s < sequences.n_sequence(); ++s) {
        const size_t keep = size_t(s) < c.n_sequence ? c.depth : 0;
        sequences.truncate(s, int32_t(std::min(keep, size_t(sequences.length(s)))));
    }
}

// Calls fn for each batch of the timed part in turn: batch_ is that batch.
void Benchmark::for_each_batch(const BenchmarkCase& c, const std::function<void()>& fn) {
    if (c.n_prompt != 0) {
        make_pass(c, 0, c.n_prompt);
        fn();
    }
    for (size_t i = 0; i < c.n_gen; ++i) {
        make_pass(c, i, 1);
        fn();
    }
}

double Benchmark::run(const BenchmarkCase& c) {
    go_to_depth(c);
    const auto start = std::chrono::steady_clock::now();
    for_each_batch(c, [&] { engine_.run(batch_, [](const Engine::Logits&) {}); });
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    forget(c);
    return seconds;
}

uint64_t Benchmark::hash(const BenchmarkCase& c) {
    uint64_t hash = 0xcbf29ce484222325;
    go_to_depth(c);
    for_each_batch(c, [&] {
        engine_.run(batch_, [&](const Engine::Logits& logits) {
            for (const float x : logits.values) hash = (hash ^ std::bit_cast<uint32_t>(x)) * 0x100000001b3;
        });
    });
    forget(c);
    return hash;
}

Work Benchmark::work(const BenchmarkCase& c) {
    Work total;
    std::vector<size_t> lengths(c.n_sequence, c.depth);
    for_each_batch(c, [&] {
        std::span<const BatchToken> rest = batch_;
        while (!rest.empty()) {
            const std::span<const BatchToken> pass = rest.first(engine_.tokens_of_a_pass(rest));
            size_t n_output_rows = 0;
            SeenCells seen;
            std::vector<bool> met(c.n_sequence, false);
            for (const BatchToken& t : pass) {
                met[size_t(t.sequence)] = true;
                seen.n_key += ++lengths[size_t(t.sequence)];
                n_output_rows += t.wants_logits ? 1 : 0;
            }
            for (size_t s = 0; s < c.n_sequence; ++s) seen.n_cell += met[s] ? lengths[s] : 0;
            total += work_of(engine_.model().build_graph({pass.size(), n_output_rows, 0}), engine_.model().weights(),
                             engine_.scheduler().layout(), seen);
            rest = rest.subspan(pass.size());
        }
    });
    return total;
}

}  // namespace minfer::engine
