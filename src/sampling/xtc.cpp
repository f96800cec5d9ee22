#include "sampling/random.h"
#include "sampling/sampler.h"
#include "sampling/softmax.h"

namespace minfer::sampling {
namespace {

constexpr uint64_t kStream = 1;  // apart from the chain's own draws

class Xtc final : public Sampler {
  public:
    Xtc(float probability, float threshold, uint64_t seed)
        : probability_(probability), threshold_(threshold), random_(seed, kStream) {}

    void apply(Candidates& candidates) override {
        if (random_.unit() >= double(probability_)) return;
        std::vector<Candidate>& items = candidates.items;
        const double least = double(threshold_) * softmax_weights(candidates, weights_);
        const Candidate* last = nullptr;  // the top choice that stays
        for (size_t i = 0; i < items.size(); ++i)
            if (weights_[i] >= least && (!last || better(*last, items[i]))) last = &items[i];
        if (!last) return;
        const Candidate kept = *last;
        // A top choice is at least as probable as the threshold and better than the one that stays, so the logits tell.
        std::erase_if(items, [&](const Candidate& c) { return better(c, kept); });
    }

  private:
    float probability_, threshold_;
    Random random_;
    std::vector<double> weights_;
};

}  // namespace

std::unique_ptr<Sampler> xtc(float probability, float threshold, uint64_t seed) {
    return std::make_unique<Xtc>(probability, threshold, seed);
}

}  // namespace minfer::sampling
