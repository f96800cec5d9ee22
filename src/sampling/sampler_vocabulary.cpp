#include "sampling/sampler_vocabulary.h"

#include "sampling/grammar/gbnf_parser.h"
#include "sampling/json_schema/json_schema.h"

namespace minfer::sampling {

std::shared_ptr<grammar::TokenMasks> SamplerVocabulary::masks(const SamplerParams& params) const {
    const bool is_schema = params.grammar.empty();
    const std::string& source = is_schema ? params.json_schema : params.grammar;
    if (source.empty()) return nullptr;
    const std::lock_guard lock(mutex_);
    if (masks_ && source_ == source) return masks_;
    const auto find = [&](std::string_view text) { return tokenizer_->find(text); };
    const grammar::Grammar parsed = is_schema ? json_schema::grammar_of(source) : grammar::parse_gbnf(source, find);
    if (!trie_) trie_ = std::make_shared<const grammar::TokenTrie>(*tokenizer_);
    masks_ = std::make_shared<grammar::TokenMasks>(parsed, trie_);
    source_ = source;
    return masks_;
}

}  // namespace minfer::sampling
