// The tokens still in play for one draw.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace minfer::sampling {

struct Candidate {
    int32_t id = 0;
    float logit = 0;
};

// Greater logit first, and of equal logits the smaller id: a total order, so that a sort has one result.
bool better(const Candidate& a, const Candidate& b);

struct Candidates {
    std::vector<Candidate> items;  // never empty; in order of `better` where `sorted`, else of ids or of what was left
    bool sorted = false;

    // Fills in token i with logits[i], reusing the memory of earlier draws.
    void assign(std::span<const float> logits);

    void sort();

    const Candidate& best() const;
    float best_logit() const { return best().logit; }
};

}  // namespace minfer::sampling
