#include "convert/token_list.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "gguf/value.h"

namespace minfer::convert {
namespace {

// Some models do not flag their control tokens; these are known by their looks.
bool looks_special(std::string_view token) {
    const auto between = [&](std::string_view open, std::string_view close) {
        return token.starts_with(open) && token.ends_with(close);
    };
    return token == "<pad>" || token == "<mask>" || token == "<2mass>" || token == "[@BOS@]" || between("<|", "|>") ||
           between("<\uff5c", "\uff5c>") || between("<unused", ">");
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
    std::string out;
    for (size_t at = text.find(from); at != std::string_view::npos; at = text.find(from)) {
        out.append(text.substr(0, at)).append(to);
        text.remove_prefix(at + from.size());
    }
    return out.append(text);
}

// By id; the entries of tokenizer_config.json last, for they count.
std::map<uint32_t, AddedToken> all_added_tokens(const TokenizerJson& tokenizer, const JsonObject& config) {
    std::map<uint32_t, AddedToken> added;
    for (const AddedToken& token : tokenizer.added_tokens) added[token.id] = token;
    const std::optional<JsonObject> decoder = config.object("added_tokens_decoder");
    if (!decoder) return added;
    for (const auto& [key, value] : decoder->tree().items()) {
        uint32_t id = 0;
        const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
        if (error != std::errc() || end != key.data() + key.size() || !value.is_object())
            throw FormatError(config.path(), decoder->field(key), describe(value), "an id with an object");
        const JsonObject entry(config.path(), fmt::format("added_tokens_decoder.{}.", key), value);
        const std::string content = entry.require("content", entry.string("content"), "the token");
        if (content.empty() || content.find('\0') != std::string::npos)
            throw FormatError(config.path(), entry.field("content"),
                              content.empty() ? "an empty token" : "a token with a zero byte", "a text");
        const auto at = added.find(id);
        if (at != added.end() && at->second.content != content)
            throw FormatError(config.path(), entry.field("content"), gguf::in_quotes(content),
                              gguf::in_quotes(at->second.content) + ", as tokenizer.json has it");
        added[id] = {content, id, entry.boolean("special").value_or(false)};
    }
    return added;
}

// A text has one id, or it could not be told how to write it.
void check_unique(const TokenList& list, const std::string& path) {
    std::unordered_map<std::string_view, size_t> ids;
    ids.reserve(list.tokens.size());
    for (size_t id = 0; id < list.tokens.size(); ++id) {
        const auto [first, is_new] = ids.emplace(list.tokens[id], id);
        if (!is_new)
            throw FormatError(path, fmt::format("token {}", id),
                              fmt::format("{}, which token {} is too", gguf::in_quotes(list.tokens[id]), first->second),
                              "a spelling of its own");
    }
}

// Text never makes a special token, so no merge may; nor one of a token that the list spells another way.
void check_merges(const TokenizerJson& tokenizer, const TokenList& list) {
    std::unordered_set<std::string_view> lost;
    for (const VocabEntry& entry : tokenizer.vocab)
        if (list.types[entry.id] == int32_t(TokenType::Control) || list.tokens[entry.id] != entry.token)
            lost.insert(entry.token);
    if (lost.empty()) return;
    const auto found = find_merge_token(tokenizer.merges, [&](std::string_view token) { return lost.contains(token); });
    if (found)
        throw FormatError(tokenizer.path, fmt::format("model.merges: number {}", found->merge),
                          gguf::in_quotes(found->token) + ", which added_tokens makes special",
                          "tokens that are made of text");
}

}  // namespace

TokenList make_token_list(const TokenizerJson& tokenizer, const JsonObject& tokenizer_config, uint64_t n_vocab) {
    const auto check_id = [&](uint64_t id, std::string_view token) {
        if (id >= n_vocab)
            throw FormatError(tokenizer.path, "token " + gguf::in_quotes(token), fmt::format("id {}", id),
                              fmt::format("less than config.json's vocab_size, {}", n_vocab));
    };
    TokenList list;
    list.tokens.resize(size_t(n_vocab));
    list.types.resize(size_t(n_vocab), int32_t(TokenType::Unused));
    for (const VocabEntry& entry : tokenizer.vocab) {
        check_id(entry.id, entry.token);
        list.tokens[entry.id] = entry.token;
        list.types[entry.id] = int32_t(TokenType::Normal);
    }
    for (const auto& [id, added] : all_added_tokens(tokenizer, tokenizer_config)) {
        check_id(id, added.content);
        const bool in_vocab = list.types[id] == int32_t(TokenType::Normal);
        if (in_vocab && list.tokens[id] != added.content)
            throw FormatError(tokenizer.path, "added token " + gguf::in_quotes(added.content), fmt::format("id {}", id),
                              "an id that is not that of " + gguf::in_quotes(list.tokens[id]));
        const bool control = added.special || looks_special(added.content);
        list.types[id] = int32_t(control ? TokenType::Control : TokenType::UserDefined);
        // llama.cpp finds these in text as they are, so the sentencepiece mark of a space is written as a space.
        list.tokens[id] = control ? added.content : replace_all(added.content, "\u2581", " ");
    }
    for (size_t id = 0; id < list.tokens.size(); ++id)
        if (list.types[id] == int32_t(TokenType::Unused)) list.tokens[id] = fmt::format("[PAD{}]", id);
    check_unique(list, tokenizer.path);
    check_merges(tokenizer, list);
    return list;
}

}  // namespace minfer::convert
