// Probabilities up to a common factor, in double, with the exp of docs/numerics.md.
#pragma once

#include <vector>

#include "sampling/candidates.h"

namespace minfer::sampling {

// weights[i] = exp(logit[i] - largest logit). Gives their sum, added in the order of the candidates.
double softmax_weights(const Candidates& candidates, std::vector<double>& weights);

}  // namespace minfer::sampling
