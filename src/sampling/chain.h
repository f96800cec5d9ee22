// From logits to the next token: samplers in order, then one draw.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sampling/candidates.h"
#include "sampling/grammar/constraint.h"
#include "sampling/random.h"
#include "sampling/sampler.h"

namespace minfer::sampling {

// The same parameters, seed, accepted tokens and logits give the same tokens on any machine: each step is IEEE
// arithmetic in a fixed order, with the exp and log of docs/numerics.md and the generator of random.h. Made by
// make_sampler.h from what a user asks for, or of any samplers, in this order.
class Chain {
  public:
    // With a constraint, only its tokens are candidates.
    Chain(std::vector<std::unique_ptr<Sampler>> samplers, uint64_t seed,
          std::unique_ptr<grammar::Constraint> constraint = nullptr);

    // Tells of a token of the prompt, and of one that was sampled and is now part of the text: a grammar is about the
    // latter alone. accept() throws Error for a token that the grammar does not allow.
    void accept_prompt(int32_t token);
    void accept(int32_t token);

    // The next token is the first of a new text under the grammar. Everything else goes on.
    void restart_grammar();

    // Logits [n_vocab], none of them NaN. Does not accept the token: the caller does, once it is part of the text.
    // Throws Error where the grammar needs text that no token has.
    int32_t sample(std::span<const float> logits);

  private:
    int32_t draw();

    std::vector<std::unique_ptr<Sampler>> samplers_;
    std::unique_ptr<grammar::Constraint> constraint_;
    Random random_;
    Candidates candidates_;
    std::vector<double> weights_;
};

}  // namespace minfer::sampling
