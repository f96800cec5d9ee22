// What sampling needs to know of a vocabulary, shared by all samplers of a model.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "sampling/grammar/token_masks.h"
#include "sampling/params.h"
#include "tokenizer/tokenizer.h"

namespace minfer::sampling {

class SamplerVocabulary {
  public:
    // Borrows the tokenizer.
    explicit SamplerVocabulary(const tokenizer::Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

    const tokenizer::Tokenizer& tokenizer() const { return *tokenizer_; }

    // The masks of the parameters' grammar or JSON schema; null where there is neither. Those of the grammar asked for
    // last are kept, so that its masks serve one text after another. Throws what parse_gbnf and Automaton throw.
    std::shared_ptr<grammar::TokenMasks> masks(const SamplerParams& params) const;

  private:
    const tokenizer::Tokenizer* tokenizer_;
    mutable std::mutex mutex_;
    mutable std::shared_ptr<const grammar::TokenTrie> trie_;  // built when first needed
    mutable std::string source_;                              // of masks_
    mutable std::shared_ptr<grammar::TokenMasks> masks_;
};

}  // namespace minfer::sampling
