// A text under a grammar, token by token.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "sampling/grammar/token_masks.h"
#include "tokenizer/tokenizer.h"

namespace minfer::sampling::grammar {

class Constraint {
  public:
    // Borrows the tokenizer, the one whose tree the masks have.
    Constraint(std::shared_ptr<TokenMasks> masks, const tokenizer::Tokenizer& tokenizer);

    // The tokens that may come next: bit i % 64 of word i / 64 is token i. Those that end a text are among them where
    // the grammar can end, and only there. Valid until the next call.
    std::span<const uint64_t> allowed();

    // Goes on by a token of allowed(); one that ends the text leaves everything as it is. Throws Error, naming the
    // token, for another.
    void accept(int32_t token);

    bool can_end() const { return machine_.can_end(config_); }

    // Back to the start of a text.
    void restart();

  private:
    std::shared_ptr<TokenMasks> masks_;
    const tokenizer::Tokenizer* tokenizer_;
    Machine machine_;
    ConfigId config_;
    std::unordered_map<ConfigId, TokenSet> known_;  // masks made lately: a text stays in some places for long
};

}  // namespace minfer::sampling::grammar
