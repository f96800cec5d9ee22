// A tokenizer as its GGUF keys describe it (tokenizer.ggml.*), before anything is built from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace minfer::gguf {
class Gguf;
}

namespace minfer::tokenizer {

using TokenId = int32_t;

// The numbers of tokenizer.ggml.token_type. In llama.cpp's converter, Control is a token that steers the model
// ("<|im_start|>"), UserDefined one added to the vocabulary as plain text ("<tool_call>"), Unused a hole in the ids.
enum class TokenType : uint8_t { Undefined, Normal, Unknown, Control, UserDefined, Unused, Byte };

// The strings are borrowed: they need to live until a Tokenizer is built.
struct Vocabulary {
    std::string source;                    // the file, for messages
    std::string pre;                       // tokenizer.ggml.pre, the pre-tokenizer's name
    std::vector<std::string_view> tokens;  // by id; a Normal token's bytes are spelled in GPT-2's byte alphabet
    std::vector<TokenType> types;          // one a token, or none at all, which means Normal throughout
    std::vector<std::string_view> merges;  // "LEFT RIGHT", the first to apply first
    std::optional<TokenId> bos, eos, eot, eom;
    std::optional<bool> add_bos;  // without it, what the pre-tokenizer's models do
    bool add_eos = false;

    // Throws FormatError naming the key, and UnsupportedError for a tokenizer that is no byte-level BPE.
    static Vocabulary from_gguf(const gguf::Gguf& file);
};

}  // namespace minfer::tokenizer
