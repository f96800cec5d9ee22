// One step of a chain: it changes logits or drops candidates. A sampler a file; each is made by the function below.
#pragma once

#include <cstdint>
#include <memory>

#include "sampling/candidates.h"

namespace minfer::sampling {

class Sampler {
  public:
    virtual ~Sampler() = default;

    // Leaves at least one candidate.
    virtual void apply(Candidates& candidates) = 0;

    // Tells of a token that is now part of the text, prompt or generated.
    virtual void accept(int32_t token) { (void)token; }
};

// Divides a positive logit, and multiplies any other, of each token among the last `last_n` by `penalty` > 0; 1 changes
// nothing. Keskar et al., "CTRL", 2019, section 4.1, with llama.cpp's handling of negative logits.
std::unique_ptr<Sampler> repeat_penalty(float penalty, int last_n);

// Keeps the `k` best; 0 keeps all.
std::unique_ptr<Sampler> top_k(int k);

// Keeps the fewest best candidates whose probabilities sum to `p` or more. Holtzman et al., "The Curious Case of Neural
// Text Degeneration", 2020.
std::unique_ptr<Sampler> top_p(float p);

// Keeps the candidates at least `p` times as probable as the best. Nguyen et al., "Turning Up the Heat", 2024.
std::unique_ptr<Sampler> min_p(float p);

// Divides logits by `temperature`; 0 keeps the best candidate alone.
std::unique_ptr<Sampler> temperature(float temperature);

}  // namespace minfer::sampling
