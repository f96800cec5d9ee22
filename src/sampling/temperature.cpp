#include "sampling/sampler.h"

namespace minfer::sampling {
namespace {

class Temperature final : public Sampler {
  public:
    explicit Temperature(float value) : value_(value) {}

    void apply(Candidates& candidates) override {
        if (value_ == 0.0f) {
            candidates.items = {candidates.best()};
            candidates.sorted = true;
            return;
        }
        for (Candidate& c : candidates.items) c.logit /= value_;
    }

  private:
    float value_;
};

}  // namespace

std::unique_ptr<Sampler> temperature(float temperature) { return std::make_unique<Temperature>(temperature); }

}  // namespace minfer::sampling
