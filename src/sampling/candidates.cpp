#include "sampling/candidates.h"

#include <algorithm>
#include <bit>

namespace minfer::sampling {

bool better(const Candidate& a, const Candidate& b) { return a.logit > b.logit || (a.logit == b.logit && a.id < b.id); }

void Candidates::assign(std::span<const float> logits) {
    items.resize(logits.size());
    for (size_t i = 0; i < logits.size(); ++i) items[i] = {int32_t(i), logits[i]};
    order = Order::Id;
}

void Candidates::assign(std::span<const float> logits, std::span<const uint64_t> allowed) {
    items.resize(logits.size());
    Candidate* out = items.data();
    for (size_t word = 0; word * 64 < logits.size() && word < allowed.size(); ++word) {
        const size_t first = word * 64;
        uint64_t bits = allowed[word];
        if (logits.size() - first < 64) bits &= (uint64_t(1) << (logits.size() - first)) - 1;
        if (bits == ~uint64_t(0)) {  // inside a string of JSON nearly every word
            for (size_t i = first; i < first + 64; ++i) *out++ = {int32_t(i), logits[i]};
            continue;
        }
        for (; bits != 0; bits &= bits - 1) {
            const size_t i = first + size_t(std::countr_zero(bits));
            *out++ = {int32_t(i), logits[i]};
        }
    }
    items.resize(size_t(out - items.data()));
    order = Order::Id;
}

void Candidates::sort() {
    if (order != Order::Best) std::sort(items.begin(), items.end(), better);
    order = Order::Best;
}

void Candidates::sort_best(size_t n_ready, size_t n) {
    if (order == Order::Best || n_ready >= n) return;
    constexpr size_t kHeapIsFaster = 512;  // a heap of so few stays in the first-level cache during its one pass
    const auto at = [&](size_t i) { return items.begin() + std::ptrdiff_t(i); };
    if (n - n_ready <= kHeapIsFaster) {
        std::partial_sort(at(n_ready), at(n), items.end(), better);
    } else {
        if (n < items.size()) std::nth_element(at(n_ready), at(n), items.end(), better);
        std::sort(at(n_ready), at(n), better);
    }
    order = n == items.size() ? Order::Best : Order::Other;
}

Candidate* Candidates::find(int32_t id) {
    if (order == Order::Id) {
        if (id >= 0 && size_t(id) < items.size() && items[size_t(id)].id == id) return &items[size_t(id)];
        const auto at = std::ranges::lower_bound(items, id, {}, &Candidate::id);
        return at != items.end() && at->id == id ? &*at : nullptr;
    }
    const auto at = std::ranges::find(items, id, &Candidate::id);
    return at != items.end() ? &*at : nullptr;
}

const Candidate& Candidates::best() const {
    return order == Order::Best ? items.front() : *std::min_element(items.begin(), items.end(), better);
}

}  // namespace minfer::sampling
