#include "tokenizer/vocabulary.h"

#include <fmt/format.h>

#include <limits>

#include "base/error.h"
#include "gguf/reader.h"

namespace minfer::tokenizer {
namespace {

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kTypes = "tokenizer.ggml.token_type";

std::vector<TokenType> read_types(const gguf::Gguf& file) {
    std::vector<TokenType> types;
    for (const int32_t number : file.get_or<std::vector<int32_t>>(kTypes, {})) {
        if (number < 0 || number > int32_t(TokenType::Byte))
            throw FormatError(file.path(), fmt::format("key '{}', token {}", kTypes, types.size()),
                              fmt::format("type {}", number), "a type from 0 to 6");
        types.push_back(TokenType(number));
    }
    return types;
}

}  // namespace

Vocabulary Vocabulary::from_gguf(const gguf::Gguf& file) {
    const auto model = file.get<std::string_view>("tokenizer.ggml.model");
    if (model != "gpt2")
        throw UnsupportedError(fmt::format("{}: unsupported tokenizer {}; minfer runs 'gpt2' (byte-level BPE)",
                                           file.path(), gguf::in_quotes(model)));
    if (file.get_or<bool>("tokenizer.ggml.add_sep_token", false))
        throw UnsupportedError(fmt::format("{}: unsupported key 'tokenizer.ggml.add_sep_token'", file.path()));

    Vocabulary vocabulary;
    vocabulary.source = file.path();
    vocabulary.pre = file.get<std::string>("tokenizer.ggml.pre");
    vocabulary.tokens = file.get<std::vector<std::string_view>>(kTokens);
    const size_t n = vocabulary.tokens.size();
    if (n == 0 || n > size_t(std::numeric_limits<TokenId>::max()))
        throw FormatError(file.path(), fmt::format("key '{}'", kTokens), fmt::format("{} tokens", n),
                          fmt::format("from 1 to {}", std::numeric_limits<TokenId>::max()));
    vocabulary.types = read_types(file);
    vocabulary.merges = file.get<std::vector<std::string_view>>("tokenizer.ggml.merges");
    vocabulary.bos = file.get_if<TokenId>("tokenizer.ggml.bos_token_id");
    vocabulary.eos = file.get_if<TokenId>("tokenizer.ggml.eos_token_id");
    vocabulary.eot = file.get_if<TokenId>("tokenizer.ggml.eot_token_id");
    vocabulary.eom = file.get_if<TokenId>("tokenizer.ggml.eom_token_id");
    vocabulary.add_bos = file.get_if<bool>("tokenizer.ggml.add_bos_token");
    vocabulary.add_eos = file.get_or<bool>("tokenizer.ggml.add_eos_token", false);
    return vocabulary;
}

}  // namespace minfer::tokenizer
