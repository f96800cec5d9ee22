#include <cstdlib>
#include <vector>

#include "sampling/sampler.h"
#include "sampling/token_window.h"

namespace minfer::sampling {
namespace {

class Penalties final : public Sampler {
  public:
    Penalties(int last_n, float repeat, float frequency, float presence)
        : window_(size_t(last_n)), repeat_(repeat), frequency_(frequency), presence_(presence) {}

    void apply(Candidates& candidates) override {
        bool changed = false;
        for (size_t i = 0; i < window_.size(); ++i) {
            int& count = count_[size_t(window_.back(i))];
            if (count < 0) continue;  // a token that stands in the window twice is done once
            changed |= lower(candidates.find(window_.back(i)), count);
            count = -count;
        }
        for (size_t i = 0; i < window_.size(); ++i) {
            int& count = count_[size_t(window_.back(i))];
            count = std::abs(count);
        }
        if (changed && candidates.order == Candidates::Order::Best) candidates.order = Candidates::Order::Other;
    }

    void accept(int32_t token) override {
        if (window_.full()) --count_[size_t(window_.oldest())];
        window_.push(token);
        if (count_.size() <= size_t(token)) count_.resize(size_t(token) + 1);
        ++count_[size_t(token)];
    }

  private:
    bool lower(Candidate* c, int count) const {
        if (!c) return false;
        // Both directions make the token less likely, as a plain division of a negative logit would not.
        c->logit = c->logit > 0 ? c->logit / repeat_ : c->logit * repeat_;
        c->logit -= float(count) * frequency_ + presence_;
        return true;
    }

    TokenWindow window_;
    float repeat_, frequency_, presence_;
    std::vector<int> count_;  // by token, within the window
};

}  // namespace

std::unique_ptr<Sampler> penalties(int last_n, float repeat, float frequency, float presence) {
    return std::make_unique<Penalties>(last_n, repeat, frequency, presence);
}

}  // namespace minfer::sampling
