// The tokens of a vocabulary: how each is spelled in the file, which bytes it stands for, and its type.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/vocabulary.h"

namespace minfer::tokenizer {

class TokenTable {
  public:
    // Throws FormatError for types that are not one a token, two tokens of one spelling, and a Byte token that does not
    // name a byte. Empty tokens may repeat; they stand for nothing and no text becomes one.
    explicit TokenTable(const Vocabulary& vocabulary);

    size_t size() const { return pieces_.size(); }
    // These take any id and throw Error for one outside the vocabulary.
    std::string_view piece(TokenId id) const { return pieces_[checked(id)]; }
    TokenType type(TokenId id) const {
        const size_t i = checked(id);
        return types_.empty() ? TokenType::Normal : types_[i];
    }
    bool is_special(TokenId id) const { return type(id) == TokenType::Control || type(id) == TokenType::Unknown; }
    std::string_view spelling(TokenId id) const { return spellings_[checked(id)]; }

    std::optional<TokenId> find(std::string_view spelling) const;
    // As find(), without Control and Unknown tokens: what byte pair encoding may produce. A spelling of bytes reaches
    // nothing that steers a model unless special tokens were asked for.
    std::optional<TokenId> find_plain(std::string_view spelling) const;
    std::optional<TokenId> of_byte(unsigned char byte) const;

  private:
    class Strings {  // many of them in one allocation
      public:
        void reserve(size_t count, size_t bytes);
        void add(std::string_view text);
        size_t size() const { return ends_.size(); }
        std::string_view operator[](size_t i) const;

      private:
        std::string bytes_;
        std::vector<size_t> ends_;
    };
    // Ids by the hash of their spelling, with open addressing: merges ask for three spellings each when a tokenizer is
    // made.
    struct Slot {
        uint32_t hash;
        TokenId id;  // kNoToken: nobody's
    };
    static constexpr TokenId kNoToken = -1;

    size_t checked(TokenId id) const;
    // Of the token with this spelling, or else where it would go.
    size_t slot_of(std::string_view spelling, uint32_t hash) const;

    Strings spellings_, pieces_;
    std::vector<TokenType> types_;
    std::vector<Slot> slots_;  // a power of two, at most half of them taken
    std::array<TokenId, 256> of_byte_;
};

}  // namespace minfer::tokenizer
