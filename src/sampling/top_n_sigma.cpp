#include <cmath>

#include "sampling/sampler.h"

namespace minfer::sampling {
namespace {

class TopNSigma final : public Sampler {
  public:
    explicit TopNSigma(float n) : n_(n) {}

    void apply(Candidates& candidates) override {
        if (n_ <= 0.0f || candidates.items.size() == 1) return;
        // Tokens that are ruled out already say nothing about how the others spread.
        double sum = 0, count = 0;
        for (const Candidate& c : candidates.items) {
            if (c.logit == -INFINITY) continue;
            sum += double(c.logit);
            count += 1;
        }
        if (count == 0) return;
        const double mean = sum / count;
        double squares = 0;
        for (const Candidate& c : candidates.items) {
            const double d = c.logit == -INFINITY ? 0.0 : double(c.logit) - mean;
            squares += d * d;
        }
        const double least = double(candidates.best_logit()) - double(n_) * std::sqrt(squares / count);
        std::erase_if(candidates.items, [&](const Candidate& c) { return double(c.logit) < least; });
    }

  private:
    float n_;
};

}  // namespace

std::unique_ptr<Sampler> top_n_sigma(float n) { return std::make_unique<TopNSigma>(n); }

}  // namespace minfer::sampling
