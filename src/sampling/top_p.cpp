#include "sampling/sampler.h"
#include "sampling/softmax.h"

namespace minfer::sampling {
namespace {

class TopP final : public Sampler {
  public:
    explicit TopP(float p) : p_(p) {}

    void apply(Candidates& candidates) override {
        if (p_ >= 1.0f) return;
        candidates.sort();
        const double total = softmax_weights(candidates, weights_);
        double sum = 0;
        size_t kept = 0;
        while (kept < weights_.size()) {
            sum += weights_[kept++];
            if (sum >= double(p_) * total) break;
        }
        candidates.items.resize(kept);
    }

  private:
    float p_;
    std::vector<double> weights_;  // kept between draws to save the allocation
};

}  // namespace

std::unique_ptr<Sampler> top_p(float p) { return std::make_unique<TopP>(p); }

}  // namespace minfer::sampling
