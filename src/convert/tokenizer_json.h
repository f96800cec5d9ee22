// tokenizer.json, the file of HuggingFace's `tokenizers`: the vocabulary, the merges, the added tokens and the steps
// around them. The file has megabytes, so simdjson walks it once; the small parts are kept as trees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convert/json_file.h"

namespace minfer::convert {

struct VocabEntry {
    std::string token;  // in the byte-level alphabet: a space is U+0120
    uint32_t id = 0;
};

struct AddedToken {
    std::string content;  // as it stands in text
    uint32_t id = 0;
    bool special = false;
};

struct TokenizerJson {
    std::string path;                                         // for messages
    std::vector<VocabEntry> vocab;                            // in the file's order; tokens and ids are each unique
    std::vector<std::string> merges;                          // "left right", a space inside a part written as U+0120;
                                                              // left, right and both together are in vocab
    std::vector<AddedToken> added_tokens;                     // in the file's order
    Json model;                                               // model without vocab and merges
    Json normalizer, pre_tokenizer, post_processor, decoder;  // null where the file has none

    // tokenizer.ggml.pre: the name under which GGUF files know this pre-tokenizer. Throws UnsupportedError, naming what
    // is off, for what is no byte-level BPE or has an expression, a normalizer or an option that none of the known ones
    // has. There is no table of models: what the file says decides.
    std::string_view pre_tokenizer_name() const;
};

struct MergeToken {
    size_t merge;  // its place among the merges
    std::string token;
};
// The first token that a merge joins or makes and of which `wanted` is true.
template <typename Wanted>
std::optional<MergeToken> find_merge_token(const std::vector<std::string>& merges, Wanted wanted) {
    std::string merged;
    for (size_t i = 0; i < merges.size(); ++i) {
        const std::string_view rule = merges[i];
        const size_t space = rule.find(' ');
        const std::string_view left = rule.substr(0, space), right = rule.substr(space + 1);
        merged.assign(left).append(right);
        for (const std::string_view token : {left, right, std::string_view(merged)})
            if (wanted(token)) return MergeToken{i, std::string(token)};
    }
    return std::nullopt;
}

// Longer files are refused, so that parsing one is bounded in memory; Qwen's has 11 MB.
constexpr uint64_t kMaxTokenizerBytes = 32 << 20;

// Parses the file's bytes. `text` must have simdjson::SIMDJSON_PADDING bytes of room after its end (Padded below has
// them). Throws FormatError.
TokenizerJson parse_tokenizer_json(std::string_view text, const std::string& path);

TokenizerJson read_tokenizer_json(const std::string& path);

}  // namespace minfer::convert
