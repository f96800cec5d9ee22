// The tokens still in play for one draw.
#pragma once

#include <cstddef>
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
    enum class Order : uint8_t {
        Id,     // ids ascending
        Best,   // in order of `better`
        Other,  // neither; still the same on every machine, as sums and draws go by it
    };

    std::vector<Candidate> items;  // never empty
    Order order = Order::Id;

    // Fills in token i with logits[i], reusing the memory of earlier draws.
    void assign(std::span<const float> logits);

    // The same for the tokens whose bit is set in `allowed`: bit i % 64 of word i / 64. Words past the end are not
    // read. Leaves no candidates where no bit is set.
    void assign(std::span<const float> logits, std::span<const uint64_t> allowed);

    void sort();

    // Makes items[0, n) the n best in order, where items[0, n_ready) are so already. What follows them is then in no
    // order that may be relied on: callers cut it off or sort on.
    void sort_best(size_t n_ready, size_t n);

    // The candidate with this id, or null.
    Candidate* find(int32_t id);

    const Candidate& best() const;
    float best_logit() const { return best().logit; }
};

}  // namespace minfer::sampling
