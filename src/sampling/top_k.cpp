#include <algorithm>

#include "sampling/sampler.h"

namespace minfer::sampling {
namespace {

class TopK final : public Sampler {
  public:
    explicit TopK(int k) : k_(size_t(k)) {}

    void apply(Candidates& candidates) override {
        std::vector<Candidate>& items = candidates.items;
        if (k_ == 0 || k_ >= items.size()) return;
        if (!candidates.sorted) {
            std::partial_sort(items.begin(), items.begin() + std::ptrdiff_t(k_), items.end(), better);
            candidates.sorted = true;
        }
        items.resize(k_);
    }

  private:
    size_t k_;
};

}  // namespace

std::unique_ptr<Sampler> top_k(int k) { return std::make_unique<TopK>(k); }

}  // namespace minfer::sampling
