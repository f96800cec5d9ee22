// Timed work of a loaded model: prompts and generation, at a depth, for one sequence or several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "engine/engine.h"
#include "engine/work.h"

namespace minfer::engine {

// One of n_prompt and n_gen is 0: a case is a prompt or a generation, never both.
struct BenchmarkCase {
    size_t n_prompt = 0;    // tokens that each sequence gets at once; the last one's logits are wanted
    size_t n_gen = 0;       // steps of one token a sequence, with its logits
    size_t depth = 0;       // tokens that each sequence holds before
    size_t n_sequence = 1;  // side by side in each pass

    size_t n_token() const { return (n_prompt + n_gen) * n_sequence; }         // that are timed
    size_t n_cell() const { return (depth + n_prompt + n_gen) * n_sequence; }  // of the context that it takes
};

class Benchmark {
  public:
    // The engine is borrowed, with all of its sequences.
    explicit Benchmark(Engine& engine) : engine_(engine) {}

    // Brings the sequences to the case's depth, runs it, and gives the seconds that it took from there; the sequences
    // are at that depth again afterwards. Tokens are pseudo-random and follow from sequence and position alone, and
    // logits are used for nothing. Throws ShapeError where the engine has not the sequences or the cells.
    double run(const BenchmarkCase& c);

    // The same, untimed, with a hash (FNV-1a) over the bits of all logits, in order: by docs/numerics.md it is the same
    // on every machine.
    uint64_t hash(const BenchmarkCase& c);

    // What the timed part of the case cannot do without.
    Work work(const BenchmarkCase& c);

  private:
    void go_to_depth(const BenchmarkCase& c);
    void forget(const BenchmarkCase& c);
    void for_each_batch(const BenchmarkCase& c, const std::function<void()>& fn);
    void make_pass(const BenchmarkCase& c, size_t first, size_t n);

    Engine& engine_;
    Batch batch_;
};

// The token at that place of that sequence.
TokenId benchmark_token(SequenceId sequence, size_t position, size_t n_vocab);

}  // namespace minfer::engine
