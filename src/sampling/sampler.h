// One step of a chain: it changes logits or drops candidates. A sampler a file; each is made by the function below.
// Formulas, ranges and what llama.cpp does otherwise: docs/sampling.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "sampling/candidates.h"
#include "sampling/params.h"

namespace minfer::tokenizer {
class Tokenizer;
}

namespace minfer::sampling {

class Sampler {
  public:
    virtual ~Sampler() = default;

    // Leaves at least one candidate.
    virtual void apply(Candidates& candidates) = 0;

    // Tells of a token that is now part of the text, prompt or generated.
    virtual void accept(int32_t token) { (void)token; }

    // Tells how probable the drawn token was among the candidates that the chain had left.
    virtual void drawn(double probability) { (void)probability; }
};

// Adds to each token's logit; -inf drops the token, where it is not the last one left.
std::unique_ptr<Sampler> logit_bias(std::span<const LogitBias> biases);

// Of each token among the last `last_n`: a positive logit is divided by `repeat` > 0, any other multiplied; then
// `count` times `frequency` and once `presence` are taken off. Keskar et al., "CTRL", 2019, section 4.1, with
// llama.cpp's handling of negative logits.
std::unique_ptr<Sampler> penalties(int last_n, float repeat, float frequency, float presence);

// "Don't repeat yourself", by p-e-w, 2024: a token that would extend a repetition of `allowed_length` tokens or more
// loses multiplier * base ^ (length - allowed_length). Repetitions are of the end of the text, within its last `last_n`
// tokens, and do not reach over a sequence breaker.
std::unique_ptr<Sampler> dry(const DryParams& params, const tokenizer::Tokenizer& tokenizer);

// Keeps the `k` best; 0 keeps all.
std::unique_ptr<Sampler> top_k(int k);

// Keeps the fewest best candidates whose probabilities sum to `p` or more. Holtzman et al., "The Curious Case of Neural
// Text Degeneration", 2020.
std::unique_ptr<Sampler> top_p(float p);

// Keeps the candidates at least `p` times as probable as the best. Nguyen et al., "Turning Up the Heat", 2024.
std::unique_ptr<Sampler> min_p(float p);

// Keeps the fewest candidates whose probabilities sum to more than `p`, those first whose surprise is closest to the
// expected one, the entropy. Meister et al., "Locally Typical Sampling", 2022.
std::unique_ptr<Sampler> typical(float p);

// Keeps the candidates whose logit is at most `n` standard deviations below the largest. Tang et al., "Top-n-sigma: Not
// All Logits Are You Need", 2024.
std::unique_ptr<Sampler> top_n_sigma(float n);

// "Exclude top choices", by p-e-w, 2024: with this probability, drops all but the least probable of the candidates at
// least as probable as `threshold`. Its draws come from a stream of `seed` of its own.
std::unique_ptr<Sampler> xtc(float probability, float threshold, uint64_t seed);

// Divides logits by `value`; 0 keeps the best candidate alone.
std::unique_ptr<Sampler> temperature(float value);

// Divides logits by a temperature between value - range, at least 0, and value + range: the more, the closer the
// entropy comes to its maximum, by the power `exponent`. Zhu et al., "Hot or Cold?", 2023, as "dynamic temperature".
std::unique_ptr<Sampler> dynamic_temperature(float value, float range, float exponent);

// Mirostat 2: keeps the candidates whose surprise is at most mu bits, the best at least; each draw then moves mu by
// `rate` times how much the drawn token's surprise fell short of `entropy`. Basu et al., "Mirostat", 2021, algorithm 2.
std::unique_ptr<Sampler> mirostat(float entropy, float rate);

}  // namespace minfer::sampling
