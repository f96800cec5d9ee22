#include <algorithm>
#include <cmath>

#include "base/canonical_math.h"
#include "sampling/sampler.h"
#include "sampling/softmax.h"

namespace minfer::sampling {
namespace {

class Typical final : public Sampler {
  public:
    explicit Typical(float p) : p_(p) {}

    void apply(Candidates& candidates) override {
        if (p_ >= 1.0f) return;
        const std::vector<Candidate>& items = candidates.items;
        const double total = softmax_weights(candidates, weights_);
        const double log_of_best = double(candidates.best_logit()) + canonical_log(total);
        const double entropy = entropy_of(candidates, weights_, total);
        scored_.clear();
        for (size_t i = 0; i < items.size(); ++i)
            scored_.push_back({std::fabs(log_of_best - double(items[i].logit) - entropy), weights_[i], items[i]});

        const double share = double(p_) * total;
        double sum = 0;
        size_t kept = 0, sorted = 0;
        while (kept < scored_.size()) {
            if (kept == sorted) {
                const size_t more = std::min(scored_.size(), std::max(size_t(256), 4 * sorted));
                if (more < scored_.size()) std::nth_element(at(sorted), at(more), scored_.end(), closer);
                std::sort(at(sorted), at(more), closer);
                sorted = more;
            }
            sum += scored_[kept++].weight;
            if (sum > share) break;
        }
        candidates.items.resize(kept);
        for (size_t i = 0; i < kept; ++i) candidates.items[i] = scored_[i].candidate;
        candidates.order = Candidates::Order::Other;
    }

  private:
    struct Scored {
        double distance;  // of the surprise from the entropy, in nats
        double weight;
        Candidate candidate;
    };
    static bool closer(const Scored& a, const Scored& b) {
        return a.distance < b.distance || (a.distance == b.distance && better(a.candidate, b.candidate));
    }
    std::vector<Scored>::iterator at(size_t i) { return scored_.begin() + std::ptrdiff_t(i); }

    float p_;
    std::vector<double> weights_;
    std::vector<Scored> scored_;
};

}  // namespace

std::unique_ptr<Sampler> typical(float p) { return std::make_unique<Typical>(p); }

}  // namespace minfer::sampling
