// Byte pair encoding: which two neighbouring tokens become one, and in which order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tokenizer/vocabulary.h"

namespace minfer::tokenizer {

struct Merge {
    TokenId left, right, merged;
};

// The merges by pair, in a hash table with open addressing: an encoder does nothing else as often.
class MergeTable {
  public:
    struct Found {
        uint32_t rank;  // the lowest goes first
        TokenId merged;
    };

    // `merges` in order of rank. Of two for one pair the first counts.
    explicit MergeTable(std::span<const Merge> merges);

    std::optional<Found> find(TokenId left, TokenId right) const {
        const uint64_t pair = key(left, right);
        for (size_t slot = home(pair);; slot = (slot + 1) & mask_) {
            if (slots_[slot].pair == pair) return slots_[slot].found;
            if (slots_[slot].pair == kEmpty) return std::nullopt;
        }
    }

  private:
    struct Slot {
        uint64_t pair;
        Found found;
    };
    static constexpr uint64_t kEmpty = ~uint64_t(0);  // no pair: ids are not negative

    static uint64_t key(TokenId left, TokenId right) { return uint64_t(uint32_t(left)) << 32 | uint32_t(right); }
    size_t home(uint64_t pair) const { return size_t((pair * 0x9E3779B97F4A7C15u) >> shift_); }  // 2^64 / golden ratio

    std::vector<Slot> slots_;
    size_t mask_ = 0;
    int shift_ = 0;
};

// Merges words by one table, keeping its memory from word to word. One thread's.
class Merger {
  public:
    explicit Merger(const MergeTable& table) : table_(&table) {}

    // Applies to `symbols` the merge of the lowest rank, the leftmost first among equals, until none applies; appends
    // what is left to `out`. Time n log n: symbols are a linked list, and candidate pairs a heap.
    void merge(std::span<const TokenId> symbols, std::vector<TokenId>& out);

  private:
    struct Symbol {
        TokenId id;  // kGone once it is part of the one before it
        uint32_t previous, next;
    };
    static constexpr TokenId kGone = -1;
    static constexpr uint32_t kNone = UINT32_MAX;

    void consider(uint32_t left);

    const MergeTable* table_;
    std::vector<Symbol> symbols_;
    std::vector<uint64_t> heap_;  // rank << 32 | place of the pair's left symbol; the least on top
};

}  // namespace minfer::tokenizer
