// What sampling needs to know of a vocabulary, built once and shared by all samplers of a model.
#pragma once

#include "tokenizer/tokenizer.h"

namespace minfer::sampling {

class SamplerVocabulary {
  public:
    // Borrows the tokenizer.
    explicit SamplerVocabulary(const tokenizer::Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

    const tokenizer::Tokenizer& tokenizer() const { return *tokenizer_; }

  private:
    const tokenizer::Tokenizer* tokenizer_;
};

}  // namespace minfer::sampling
