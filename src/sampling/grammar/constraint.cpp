#include "sampling/grammar/constraint.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"

namespace minfer::sampling::grammar {
namespace {

constexpr size_t kMostKnown = 256;  // masks of 19 KB each, with 150,000 tokens

}  // namespace

Constraint::Constraint(std::shared_ptr<TokenMasks> masks, const tokenizer::Tokenizer& tokenizer)
    : masks_(std::move(masks)), tokenizer_(&tokenizer), machine_(masks_->automaton()), config_(machine_.start()) {}

std::span<const uint64_t> Constraint::allowed() {
    if (known_.size() == kMostKnown) known_.clear();
    const auto [at, is_new] = known_.try_emplace(config_);
    if (is_new) {
        at->second.resize(masks_->trie().n_word());
        masks_->add_allowed(machine_, config_, at->second);
        if (can_end())
            for (const int32_t end : tokenizer_->end_of_generation())
                at->second[size_t(end) / 64] |= uint64_t(1) << (size_t(end) % 64);
    }
    return at->second;
}

void Constraint::accept(int32_t token) {
    if (tokenizer_->is_end_of_generation(token) && can_end()) return;
    const bool is_text = masks_->trie().is_text(token);
    ConfigId by_bytes = is_text ? config_ : kDead;
    if (is_text)
        for (const char byte : tokenizer_->piece(token)) by_bytes = machine_.step(by_bytes, uint8_t(byte));
    const ConfigId next = machine_.both(by_bytes, machine_.step_token(config_, token, is_text));
    if (next == kDead)
        throw Error(fmt::format("grammar: token {}, '{}', is not allowed here", token, tokenizer_->piece(token)));
    config_ = next;
    if (machine_.full()) {
        config_ = machine_.trim(next);
        known_.clear();
    }
}

void Constraint::restart() { config_ = machine_.start(); }

}  // namespace minfer::sampling::grammar
