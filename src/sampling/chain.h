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

// The same parameters, seed, accepted tokens and logits give the same tokens on any machine: each step is IEEE
// arithmetic in a fixed order, with the exp and log of docs/numerics.md and the generator of random.h. Made by
// make_sampler.h from what a user asks for, or of any samplers, in this order.
class Chain {
  public:
    Chain(std::vector<std::unique_ptr<Sampler>> samplers, uint64_t seed);

    // Tells of a token of the prompt, and of one that was sampled and is now part of the text.
    void accept_prompt(int32_t token);
    void accept(int32_t token);

    // Logits [n_vocab], none of them NaN. Does not accept the token: the caller does, once it is part of the text.
    int32_t sample(std::span<const float> logits);

  private:
    int32_t draw();

    std::vector<std::unique_ptr<Sampler>> samplers_;
    Random random_;
    Candidates candidates_;
    std::vector<double> weights_;
};

}  // namespace minfer::sampling
