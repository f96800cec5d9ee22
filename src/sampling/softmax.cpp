#include "sampling/softmax.h"

#include "base/canonical_math.h"

namespace minfer::sampling {

double softmax_weights(const Candidates& candidates, std::vector<double>& weights) {
    const double best = double(candidates.best_logit());
    weights.clear();
    double sum = 0;
    for (const Candidate& c : candidates.items) weights.push_back(double(c.logit) - best);
    canonical_exp_each(weights);
    for (const double weight : weights) sum += weight;
    return sum;
}

double entropy_of(const Candidates& candidates, std::span<const double> weights, double total) {
    // -log p = log(total) - (logit - best): one logarithm for them all.
    const double best = double(candidates.best_logit());
    double sum = 0;
    for (size_t i = 0; i < weights.size(); ++i)
        if (weights[i] > 0) sum += weights[i] * (best - double(candidates.items[i].logit));
    return canonical_log(total) + sum / total;
}

}  // namespace minfer::sampling
