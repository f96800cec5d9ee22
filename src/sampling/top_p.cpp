#include <algorithm>

#include "base/canonical_math.h"
#include "sampling/sampler.h"
#include "sampling/softmax.h"

namespace minfer::sampling {
namespace {

class TopP final : public Sampler {
  public:
    explicit TopP(float p) : p_(p) {}

    void apply(Candidates& candidates) override {
        if (p_ >= 1.0f) return;
        // Summed before anything moves, for a sum's bits depend on its order.
        const double share = double(p_) * softmax_weights(candidates, weights_);
        const std::vector<Candidate>& items = candidates.items;
        const double best = double(candidates.best_logit());
        double sum = 0;
        size_t kept = 0, sorted = 0;
        while (kept < items.size()) {
            if (kept == sorted) {  // few tokens hold the share as a rule: sort no more of them than it takes
                const size_t more = std::min(items.size(), std::max(size_t(256), 4 * sorted));
                candidates.sort_best(sorted, more);
                sorted = more;
            }
            sum += canonical_exp(double(items[kept++].logit) - best);
            if (sum >= share) break;
        }
        candidates.items.resize(kept);
        candidates.order = Candidates::Order::Best;
    }

  private:
    float p_;
    std::vector<double> weights_;  // kept between draws to save the allocation
};

}  // namespace

std::unique_ptr<Sampler> top_p(float p) { return std::make_unique<TopP>(p); }

}  // namespace minfer::sampling
