// From logits to the next token: samplers in order, then one draw.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sampling/candidates.h"
#include "sampling/random.h"
#include "sampling/sampler.h"

namespace minfer::sampling {

// The defaults are llama.cpp's.
struct Params {
    bool greedy = false;          // the largest logit, after the penalty; nothing is drawn
    float temperature = 0.8f;     // >= 0; 0 is greedy too
    int top_k = 40;               // >= 0; 0 is off
    float top_p = 0.95f;          // in (0, 1]; 1 is off
    float min_p = 0.05f;          // in [0, 1]; 0 is off
    float repeat_penalty = 1.0f;  // > 0; 1 is off
    int repeat_last_n = 64;       // >= 0: how many tokens back the penalty looks
    uint64_t seed = 0;
};

// The same parameters, seed, accepted tokens and logits give the same tokens on any machine: each step is IEEE
// arithmetic in a fixed order, with the exp and log of docs/numerics.md and the generator of random.h.
class Chain {
  public:
    // Penalty, top-k, top-p, min-p, temperature. Throws UsageError, naming the parameter and its range.
    explicit Chain(const Params& params);

    // Any samplers, in this order.
    Chain(std::vector<std::unique_ptr<Sampler>> samplers, uint64_t seed);

    // Logits [n_vocab], none of them NaN. Does not accept the token: the caller does, once it is part of the text.
    int32_t sample(std::span<const float> logits);

    void accept(int32_t token);

  private:
    std::vector<std::unique_ptr<Sampler>> samplers_;
    Random random_;
    Candidates candidates_;
    std::vector<double> weights_;
};

}  // namespace minfer::sampling
