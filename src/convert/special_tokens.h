// What tokenizer_config.json, config.json and tokenizer.json's post-processor together say of special tokens and chat
// templates, by the reference's rules (gguf-py, SpecialVocab): tokenizer_config.json names tokens, config.json numbers
// those it does not name, and the post-processor's template says which are added around a text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convert/json_file.h"
#include "convert/tokenizer_json.h"

namespace minfer::convert {

// The kinds of special token of GGUF, each with its key: "bos" is tokenizer.ggml.bos_token_id.
struct SpecialTokens {
    std::vector<std::pair<std::string, uint32_t>> ids;  // "bos", "eos", "unk", "sep", "pad", "mask", "eot", "eom"
    std::map<std::string, bool, std::less<>> added;     // "bos", "eos", "sep": whether one is added around a text
};

// `tokenizer_config` and `config` are the trees of the files of those names in the folder; `n_vocab` bounds the ids.
// Throws FormatError, and UnsupportedError for a post-processor that GGUF cannot say.
SpecialTokens read_special_tokens(const TokenizerJson& tokenizer, const JsonObject& tokenizer_config,
                                  const JsonObject& config, uint64_t n_vocab);

struct ChatTemplates {
    std::optional<std::string> main;           // tokenizer.chat_template
    std::map<std::string, std::string> named;  // tokenizer.chat_template.NAME; names of letters, digits and '_'
};

// From tokenizer_config.json; where it has no chat_template key, from chat_template.jinja (with
// additional_chat_templates/*.jinja beside it) or chat_template.json.
ChatTemplates read_chat_templates(const std::filesystem::path& folder, const JsonObject& tokenizer_config);

}  // namespace minfer::convert
