#include <algorithm>

#include "base/canonical_math.h"
#include "sampling/sampler.h"
#include "sampling/softmax.h"

namespace minfer::sampling {
namespace {

// Below this a division may give infinities, whose difference is no number; and no two logits of a model are as close.
constexpr float kColdest = 1e-6f;

void divide(Candidates& candidates, float temperature) {
    if (temperature >= kColdest) {
        for (Candidate& c : candidates.items) c.logit /= temperature;
        return;
    }
    candidates.items = {candidates.best()};
    candidates.order = Candidates::Order::Best;
}

class Temperature final : public Sampler {
  public:
    explicit Temperature(float value) : value_(value) {}

    void apply(Candidates& candidates) override { divide(candidates, value_); }

  private:
    float value_;
};

class DynamicTemperature final : public Sampler {
  public:
    DynamicTemperature(float value, float range, float exponent)
        : low_(std::max(0.0f, value - range)), high_(value + range), exponent_(exponent) {}

    void apply(Candidates& candidates) override {
        if (candidates.items.size() == 1) return;
        const double total = softmax_weights(candidates, weights_);
        const double share =
            entropy_of(candidates, weights_, total) / canonical_log(double(candidates.items.size()));  // of the maximum
        const double power = exponent_ == 0.0f ? 1.0 : share > 0 ? canonical_pow(share, double(exponent_)) : 0.0;
        divide(candidates, float(double(low_) + (double(high_) - double(low_)) * power));
    }

  private:
    float low_, high_, exponent_;
    std::vector<double> weights_;
};

}  // namespace

std::unique_ptr<Sampler> temperature(float value) { return std::make_unique<Temperature>(value); }

std::unique_ptr<Sampler> dynamic_temperature(float value, float range, float exponent) {
    return std::make_unique<DynamicTemperature>(value, range, exponent);
}

}  // namespace minfer::sampling
