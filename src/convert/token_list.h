// The list of tokens and of their types that GGUF keeps, one of each for every row of the embedding.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "convert/json_file.h"
#include "convert/tokenizer_json.h"

namespace minfer::convert {

// tokenizer.ggml.token_type; the numbers are the file's.
enum class TokenType : int32_t { Normal = 1, Control = 3, UserDefined = 4, Unused = 5 };

struct TokenList {
    std::vector<std::string> tokens;  // [n_vocab]
    std::vector<int32_t> types;       // [n_vocab], TokenType
};

// Ids that no token has become "[PAD<id>]" of type Unused. An added token is Control where the file says special or its
// text looks so, else UserDefined. tokenizer_config.json's added_tokens_decoder may say special anew and add tokens, as
// transformers lets it. Throws FormatError where an id is not below n_vocab, two sources disagree about a token, two
// ids have the same text, or a merge makes or takes a Control token.
TokenList make_token_list(const TokenizerJson& tokenizer, const JsonObject& tokenizer_config, uint64_t n_vocab);

}  // namespace minfer::convert
