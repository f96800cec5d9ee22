#include <cmath>
#include <vector>

#include "sampling/sampler.h"

namespace minfer::sampling {
namespace {

class Bias final : public Sampler {
  public:
    explicit Bias(std::span<const LogitBias> biases) : biases_(biases.begin(), biases.end()) {}

    void apply(Candidates& candidates) override {
        for (const LogitBias& b : biases_) {
            Candidate* c = candidates.find(b.token);
            if (!c) continue;
            if (std::isinf(b.bias)) {
                if (candidates.items.size() > 1)
                    candidates.items.erase(candidates.items.begin() + (c - candidates.items.data()));
                continue;
            }
            c->logit += b.bias;
            if (candidates.order == Candidates::Order::Best) candidates.order = Candidates::Order::Other;
        }
    }

  private:
    std::vector<LogitBias> biases_;
};

}  // namespace

std::unique_ptr<Sampler> logit_bias(std::span<const LogitBias> biases) { return std::make_unique<Bias>(biases); }

}  // namespace minfer::sampling
