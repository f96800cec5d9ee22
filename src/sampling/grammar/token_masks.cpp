#include "sampling/grammar/token_masks.h"

#include <utility>

namespace minfer::sampling::grammar {
namespace {

constexpr size_t kMostBytes = size_t(256) << 20;  // of masks; beyond, all are made anew

void set(TokenSet& set, int32_t token) { set[size_t(token) / 64] |= uint64_t(1) << (size_t(token) % 64); }

void clear(TokenSet& set, int32_t token) { set[size_t(token) / 64] &= ~(uint64_t(1) << (size_t(token) % 64)); }

}  // namespace

TokenMasks::TokenMasks(const Grammar& grammar, std::shared_ptr<const TokenTrie> trie)
    : automaton_(grammar), trie_(std::move(trie)), machine_(automaton_), path_(size_t(trie_->max_depth()) + 1) {}

template <class Accept, class Leave>
void TokenMasks::walk(Machine& machine, ConfigId config, uint32_t top, const Accept& accept, const Leave& leave) {
    const TokenTrie& trie = *trie_;
    path_[trie.depth(top)] = config;
    for (uint32_t node = top + 1; node < trie.end(top);) {
        const size_t depth = trie.depth(node);
        const ConfigId to = machine.step(path_[depth - 1], trie.byte(node));
        ++steps_;
        if (to == kDead) {
            node = trie.end(node);
            continue;
        }
        accept(node);
        if (machine.leaves(to)) leave(node);
        path_[depth] = to;
        ++node;
    }
}

TokenMasks::Mask TokenMasks::make(NodeId id) {
    Mask mask;
    found_.clear();
    if (machine_.full()) machine_.trim(kDead);
    const ConfigId config = machine_.at({id, kUnknownStack});
    walk(
        machine_, config, 0,
        [&](uint32_t node) {
            for (const int32_t token : trie_->tokens(node)) found_.push_back(token);
        },
        [&](uint32_t node) {
            if (trie_->end(node) > node + 1) mask.exits.push_back(node);
        });
    if (found_.size() * sizeof(int32_t) < trie_->n_word() * sizeof(uint64_t) / 2) {
        mask.tokens = found_;
    } else {
        mask.bits.resize(trie_->n_word());
        for (const int32_t token : found_) set(mask.bits, token);
    }
    return mask;
}

// Tokens of at most twin.bytes bytes are the twin's. The others are few as a rule: only ways to them are walked. Where
// the twin allows few tokens at all, a walk of its own is over sooner.
TokenMasks::Mask TokenMasks::make_like(NodeId id, const Twin& twin) {
    const TokenTrie& trie = *trie_;
    const Mask& like = mask(twin.node);
    if (like.bits.empty()) return make(id);
    Mask made{.bits = like.bits};
    for (const uint32_t exit : like.exits)
        if (trie.depth(exit) <= twin.bytes) made.exits.push_back(exit);
    if (machine_.full()) machine_.trim(kDead);
    path_[0] = machine_.at({id, kUnknownStack});
    for (uint32_t node = 1; node < trie.size();) {
        if (trie.deepest(node) <= twin.bytes) {
            node = trie.end(node);
            continue;
        }
        const size_t depth = trie.depth(node);
        const ConfigId to = machine_.step(path_[depth - 1], trie.byte(node));
        ++steps_;
        if (to == kDead) {
            if (depth > twin.bytes)  // else the twin has none of them either
                for (const int32_t token : trie.all_tokens(node)) clear(made.bits, token);
            node = trie.end(node);
            continue;
        }
        if (depth > twin.bytes) {
            for (const int32_t token : trie.tokens(node)) set(made.bits, token);
            if (machine_.leaves(to) && trie.end(node) > node + 1) made.exits.push_back(node);
        }
        path_[depth] = to;
        ++node;
    }
    return made;
}

const TokenMasks::Mask& TokenMasks::mask(NodeId id) {
    const Twin& twin = automaton_.twin(id);
    if (twin.bytes >= trie_->max_depth()) return mask(twin.node);
    const auto known = masks_.find(id);
    if (known != masks_.end()) return known->second;
    if (bytes_ > kMostBytes) {
        masks_.clear();
        bytes_ = 0;
    }
    const Mask& made = masks_.emplace(id, twin.bytes > 0 ? make_like(id, twin) : make(id)).first->second;
    bytes_ += made.bits.size() * sizeof(uint64_t) + (made.tokens.size() + made.exits.size()) * sizeof(uint32_t);
    return made;
}

void TokenMasks::add_token_edges(const Node& node, TokenSet& out) const {
    for (const TokenEdge& e : node.tokens) {
        if (!e.negated) {
            if (size_t(e.token) < trie_->n_vocab()) set(out, e.token);
            continue;
        }
        for (const int32_t token : trie_->all_tokens(0))
            if (token != e.token) set(out, token);
    }
}

void TokenMasks::add_allowed(Machine& machine, ConfigId config, TokenSet& out) {
    const std::vector<Place> places(machine.places(config).begin(), machine.places(config).end());  // walks add others
    for (const Place& place : places) {
        const Node& node = automaton_.node(place.node);
        if (!node.tokens.empty()) add_token_edges(node, out);
        if (node.bytes.empty()) continue;
        const Mask& known = mask(place.node);
        for (size_t i = 0; i < known.bits.size(); ++i) out[i] |= known.bits[i];
        for (const int32_t token : known.tokens) set(out, token);
        if (place.stack == kEmptyStack || known.exits.empty()) continue;
        const ConfigId after = machine.after_rule(place.stack);
        for (const uint32_t exit : known.exits)
            walk(
                machine, after, exit,
                [&](uint32_t below) {
                    for (const int32_t token : trie_->tokens(below)) set(out, token);
                },
                [](uint32_t) {});
    }
}

void TokenMasks::prepare(size_t max_steps) {
    const size_t limit = steps_ + max_steps;
    for (NodeId id = 0; id < automaton_.n_node() && steps_ < limit; ++id)
        if (!automaton_.node(id).bytes.empty()) mask(id);
}

}  // namespace minfer::sampling::grammar
