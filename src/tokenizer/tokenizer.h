// Text to token ids and back: byte-level BPE over the vocabulary of a GGUF file.
//
// Ids are exactly those of HuggingFace's `tokenizers` for the same vocabulary. GGUF does not carry the flags of an
// added token (lstrip, rstrip, single_word, normalized); all are taken as false, which holds for every family minfer
// runs.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/utf8.h"
#include "tokenizer/vocabulary.h"

namespace minfer::tokenizer {

struct EncodeOptions {
    bool add_special = true;     // BOS before and EOS after, each where the model says so
    bool parse_special = false;  // Control and Unknown tokens spelled out in the text become those tokens
    bool text_marks = false;     // the text has marks of mark_as_text(): they are heeded, and taken out
};

// Immutable once built: any number of threads may use one at a time.
class Tokenizer {
  public:
    // Throws FormatError naming the key for a vocabulary that contradicts itself, and UnsupportedError for another kind
    // of tokenizer or pre-tokenizer. Keeps nothing of its argument.
    explicit Tokenizer(const Vocabulary& vocabulary);
    static Tokenizer from_gguf(const gguf::Gguf& file) { return Tokenizer(Vocabulary::from_gguf(file)); }
    ~Tokenizer();
    Tokenizer(Tokenizer&&) noexcept;
    Tokenizer& operator=(Tokenizer&&) noexcept;

    // Any bytes: each one that is not part of well-formed UTF-8 counts as a U+FFFD. UserDefined tokens are found in the
    // text always, Control and Unknown ones with parse_special alone; without it none of them is ever made from text.
    // A byte that the vocabulary has no token for is left out, as llama.cpp does: SmolLM2's lacks 0x04 and 20 others.
    std::vector<TokenId> encode(std::string_view text, EncodeOptions options = {}) const;

    // `text` with each special token spelled out in it marked so that encode() with text_marks takes it for plain text
    // even where it has become part of another one, with special tokens of its own: a user's words in a chat template.
    // The mark is U+FDD0, a code point that is no character and never will be; one that `text` already held is lost.
    std::string mark_as_text(std::string_view text) const;

    // The token's bytes, which need not be whole UTF-8 characters. Valid as long as the tokenizer. Like all functions
    // of an id, throws Error for one outside the vocabulary.
    std::string_view piece(TokenId id) const;

    // The tokens' text, well-formed UTF-8: what is ill-formed becomes U+FFFD as in Utf8Stream. Without `with_special`,
    // Control and Unknown tokens are left out.
    std::string decode(std::span<const TokenId> ids, bool with_special) const;

    size_t n_vocab() const;
    TokenType type(TokenId id) const;
    bool is_special(TokenId id) const;  // Control or Unknown

    // The token spelled `text` in the file, where Normal tokens are spelled in GPT-2's byte alphabet. Meant for the
    // names of special tokens: find("<|im_end|>").
    std::optional<TokenId> find(std::string_view text) const;

    // As the file's keys say; nothing where it does not.
    std::optional<TokenId> bos() const;
    std::optional<TokenId> eos() const;
    std::optional<TokenId> eot() const;
    std::optional<TokenId> eom() const;
    bool adds_bos() const;
    bool adds_eos() const;
    std::string_view pretokenizer() const;

    // Generation stops at eos, eot and eom, and at the tokens <|im_end|>, <|eot_id|>, <|eom_id|> and <|endoftext|>.
    bool is_end_of_generation(TokenId id) const;
    std::span<const TokenId> end_of_generation() const;  // ascending

  private:
    struct Impl;
    std::unique_ptr<const Impl> impl_;
};

// Decodes a stream of tokens, giving out characters as soon as they are whole. The pieces add up to Tokenizer::decode.
class StreamDecoder {
  public:
    // Borrows the tokenizer.
    StreamDecoder(const Tokenizer& tokenizer, bool with_special)
        : tokenizer_(&tokenizer), with_special_(with_special) {}

    std::string push(TokenId id);
    std::string flush() { return stream_.flush(); }  // at the end: U+FFFD for a character that never got its rest

  private:
    const Tokenizer* tokenizer_;
    bool with_special_;
    Utf8Stream stream_;
};

}  // namespace minfer::tokenizer
