#include <algorithm>

#include "base/canonical_math.h"
#include "sampling/sampler.h"

namespace minfer::sampling {
namespace {

class MinP final : public Sampler {
  public:
    explicit MinP(float p) : p_(p) {}

    void apply(Candidates& candidates) override {
        if (p_ <= 0.0f) return;
        // exp(logit - best) >= p, with the logarithm taken once instead of an exp a candidate.
        const double bound = double(candidates.best_logit()) + canonical_log(double(p_));
        std::erase_if(candidates.items, [&](const Candidate& c) { return double(c.logit) < bound; });
    }

  private:
    float p_;
};

}  // namespace

std::unique_ptr<Sampler> min_p(float p) { return std::make_unique<MinP>(p); }

}  // namespace minfer::sampling
