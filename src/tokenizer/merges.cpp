#include "tokenizer/merges.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <stdexcept>

namespace minfer::tokenizer {

MergeTable::MergeTable(std::span<const Merge> merges) {
    const size_t n_slots = std::bit_ceil(std::max<size_t>(2 * merges.size(), 16));  // at most half full
    slots_.assign(n_slots, Slot{kEmpty, {0, 0}});
    mask_ = n_slots - 1;
    shift_ = 64 - std::countr_zero(n_slots);
    uint32_t rank = 0;
    for (const Merge& merge : merges) {
        const uint64_t pair = key(merge.left, merge.right);
        size_t slot = home(pair);
        while (slots_[slot].pair != kEmpty && slots_[slot].pair != pair) slot = (slot + 1) & mask_;
        if (slots_[slot].pair == kEmpty) slots_[slot] = {pair, {rank, merge.merged}};
        ++rank;
    }
}

void Merger::consider(uint32_t left) {
    const Symbol& symbol = symbols_[left];
    if (symbol.next == kNone) return;
    if (const auto found = table_->find(symbol.id, symbols_[symbol.next].id)) {
        heap_.push_back(uint64_t(found->rank) << 32 | left);
        std::ranges::push_heap(heap_, std::greater<>());
    }
}

void Merger::merge(std::span<const TokenId> symbols, std::vector<TokenId>& out) {
    if (symbols.empty()) return;
    if (symbols.size() >= kNone) throw std::length_error("tokenizer: a word of 4 GiB or more");
    const uint32_t n = uint32_t(symbols.size());
    symbols_.clear();
    heap_.clear();
    for (uint32_t i = 0; i < n; ++i)
        symbols_.push_back({symbols[i], i - 1, i + 1 < n ? i + 1 : kNone});  // 0 - 1: kNone
    for (uint32_t i = 0; i < n; ++i) consider(i);
    while (!heap_.empty()) {
        std::ranges::pop_heap(heap_, std::greater<>());
        const uint64_t top = heap_.back();
        heap_.pop_back();
        const uint32_t place = uint32_t(top);
        Symbol& left = symbols_[place];
        // An entry is stale when one of its two symbols has merged with another since.
        if (left.id == kGone || left.next == kNone) continue;
        Symbol& right = symbols_[left.next];
        const auto found = table_->find(left.id, right.id);
        if (!found || found->rank != uint32_t(top >> 32)) continue;
        left.id = found->merged;
        left.next = right.next;
        right.id = kGone;
        if (left.next != kNone) symbols_[left.next].previous = place;
        if (left.previous != kNone) consider(left.previous);
        consider(place);
    }
    for (uint32_t i = 0; i != kNone; i = symbols_[i].next) out.push_back(symbols_[i].id);
}

}  // namespace minfer::tokenizer
