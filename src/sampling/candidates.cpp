#include "sampling/candidates.h"

#include <algorithm>

namespace minfer::sampling {

bool better(const Candidate& a, const Candidate& b) { return a.logit > b.logit || (a.logit == b.logit && a.id < b.id); }

void Candidates::assign(std::span<const float> logits) {
    items.resize(logits.size());
    for (size_t i = 0; i < logits.size(); ++i) items[i] = {int32_t(i), logits[i]};
    sorted = false;
}

void Candidates::sort() {
    if (!sorted) std::sort(items.begin(), items.end(), better);
    sorted = true;
}

const Candidate& Candidates::best() const {
    return sorted ? items.front() : *std::min_element(items.begin(), items.end(), better);
}

}  // namespace minfer::sampling
