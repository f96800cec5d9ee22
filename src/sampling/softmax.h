// Probabilities up to a common factor, in double, with the exp of docs/numerics.md.
#pragma once

#include <span>
#include <vector>

#include "sampling/candidates.h"

namespace minfer::sampling {

// weights[i] = exp(logit[i] - largest logit). Gives their sum, added in the order of the candidates.
double softmax_weights(const Candidates& candidates, std::vector<double>& weights);

// -sum p log p in nats, with p = weight / total and 0 log 0 = 0: what softmax_weights gave of these candidates.
double entropy_of(const Candidates& candidates, std::span<const double> weights, double total);

}  // namespace minfer::sampling
