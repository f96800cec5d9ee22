#include "base/canonical_math.h"
#include "sampling/sampler.h"
#include "sampling/softmax.h"

namespace minfer::sampling {
namespace {

constexpr double kLn2 = 0x1.62e42fefa39efp-1;

class Mirostat final : public Sampler {
  public:
    Mirostat(float entropy, float rate) : entropy_(entropy), rate_(rate), mu_(2 * double(entropy)) {}

    void apply(Candidates& candidates) override {
        const double total = softmax_weights(candidates, weights_);
        const Candidate best = candidates.best();
        // -log2(p) <= mu, with p = exp(logit - best) / total, solved for the logit.
        const double least = double(best.logit) + canonical_log(total) - mu_ * kLn2;
        std::erase_if(candidates.items, [&](const Candidate& c) { return double(c.logit) < least; });
        if (candidates.items.empty()) candidates.items.push_back(best);
    }

    void drawn(double probability) override {
        mu_ -= double(rate_) * (-canonical_log(probability) / kLn2 - double(entropy_));
    }

  private:
    float entropy_, rate_;
    double mu_;  // the largest surprise allowed, in bits
    std::vector<double> weights_;
};

}  // namespace

std::unique_ptr<Sampler> mirostat(float entropy, float rate) { return std::make_unique<Mirostat>(entropy, rate); }

}  // namespace minfer::sampling
