#include "sampling/sampler.h"

namespace minfer::sampling {
namespace {

class TopK final : public Sampler {
  public:
    explicit TopK(int k) : k_(size_t(k)) {}

    void apply(Candidates& candidates) override {
        if (k_ == 0 || k_ >= candidates.items.size()) return;
        candidates.sort_best(0, k_);
        candidates.items.resize(k_);
        candidates.order = Candidates::Order::Best;
    }

  private:
    size_t k_;
};

}  // namespace

std::unique_ptr<Sampler> top_k(int k) { return std::make_unique<TopK>(k); }

}  // namespace minfer::sampling
