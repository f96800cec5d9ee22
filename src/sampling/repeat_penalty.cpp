#include <deque>
#include <unordered_map>

#include "sampling/sampler.h"

namespace minfer::sampling {
namespace {

class RepeatPenalty final : public Sampler {
  public:
    RepeatPenalty(float penalty, int last_n) : penalty_(penalty), last_n_(size_t(last_n)) {}

    void apply(Candidates& candidates) override {
        if (penalty_ == 1.0f || count_.empty()) return;
        for (Candidate& c : candidates.items) {
            if (!count_.contains(c.id)) continue;
            // Both directions make the token less likely, as a plain division of a negative logit would not.
            c.logit = c.logit > 0 ? c.logit / penalty_ : c.logit * penalty_;
        }
        candidates.sorted = false;
    }

    void accept(int32_t token) override {
        if (last_n_ == 0) return;
        if (window_.size() == last_n_) {
            if (--count_[window_.front()] == 0) count_.erase(window_.front());
            window_.pop_front();
        }
        window_.push_back(token);
        ++count_[token];
    }

  private:
    float penalty_;
    size_t last_n_;
    std::deque<int32_t> window_;
    std::unordered_map<int32_t, int> count_;  // of each token within the window
};

}  // namespace

std::unique_ptr<Sampler> repeat_penalty(float penalty, int last_n) {
    return std::make_unique<RepeatPenalty>(penalty, last_n);
}

}  // namespace minfer::sampling
