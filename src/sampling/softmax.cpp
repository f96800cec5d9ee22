#include "sampling/softmax.h"

#include "base/canonical_math.h"

namespace minfer::sampling {

double softmax_weights(const Candidates& candidates, std::vector<double>& weights) {
    const double best = double(candidates.best_logit());
    weights.clear();
    double sum = 0;
    for (const Candidate& c : candidates.items) {
        weights.push_back(canonical_exp(double(c.logit) - best));
        sum += weights.back();
    }
    return sum;
}

}  // namespace minfer::sampling
