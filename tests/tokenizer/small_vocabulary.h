// A vocabulary small enough to know by heart: every byte, a few merges, and tokens of each type.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/vocabulary.h"

namespace minfer::test {

// Ids: byte b is b; then the merged tokens in the order of kMerges from 256; then kOthers.
struct SmallVocabulary {
    static constexpr std::array<std::string_view, 12> kMerges = {
        "h e", "l l", "he ll", "hell o", "Ġ w", "o r", "Ġw or", "Ġwor l", "Ġworl d", "Ġ Ġ", "ĠĠ ĠĠ", "Ã ©"};
    static constexpr std::array<std::pair<std::string_view, tokenizer::TokenType>, 7> kOthers = {{
        {"<|im_start|>", tokenizer::TokenType::Control},
        {"<|im_end|>", tokenizer::TokenType::Control},
        {"<|im|>", tokenizer::TokenType::Control},
        {"<think>", tokenizer::TokenType::UserDefined},
        {"<unk>", tokenizer::TokenType::Unknown},
        {"[PAD273]", tokenizer::TokenType::Unused},
        {"<0x0A>", tokenizer::TokenType::Byte},
    }};
    static constexpr tokenizer::TokenId kHello = 259, kWorld = 264, kImStart = 268, kImEnd = 269, kIm = 270,
                                        kThink = 271, kUnk = 272;

    explicit SmallVocabulary(std::string pre) {
        vocabulary.source = "small.gguf";
        vocabulary.pre = std::move(pre);
        for (const std::string& byte : tokenizer::byte_spellings()) add(byte, tokenizer::TokenType::Normal);
        for (const std::string_view rule : kMerges) {
            vocabulary.merges.push_back(rule);
            const size_t space = rule.find(' ');
            joined.push_back(std::string(rule.substr(0, space)) + std::string(rule.substr(space + 1)));
        }
        for (const std::string& token : joined) add(token, tokenizer::TokenType::Normal);
        for (const auto& [token, type] : kOthers) add(token, type);
        vocabulary.eos = kImEnd;
        vocabulary.bos = kImStart;
        vocabulary.add_bos = false;
    }
    SmallVocabulary(const SmallVocabulary&) = delete;
    SmallVocabulary& operator=(const SmallVocabulary&) = delete;

    void add(std::string_view token, tokenizer::TokenType type) {
        vocabulary.tokens.push_back(token);
        vocabulary.types.push_back(type);
    }

    std::vector<std::string> joined;  // behind the views of the merged tokens
    tokenizer::Vocabulary vocabulary;
};

}  // namespace minfer::test
