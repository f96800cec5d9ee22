#include "tokenizer/token_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <functional>

#include "base/error.h"
#include "tokenizer/byte_alphabet.h"

namespace minfer::tokenizer {
namespace {

uint32_t hash_of(std::string_view spelling) { return uint32_t(std::hash<std::string_view>()(spelling)); }

// "<0x0A>", the spelling of a Byte token.
std::optional<char> named_byte(std::string_view text) {
    if (text.size() != 6 || !text.starts_with("<0x") || text.back() != '>') return std::nullopt;
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data() + 3, text.data() + 5, value, 16);
    if (error != std::errc() || end != text.data() + 5) return std::nullopt;
    return char(value);
}

// Control, Unknown and UserDefined tokens are spelled plainly. So is, as HuggingFace's decoder has it, a token with a
// character outside the byte alphabet; a file that is not even UTF-8 there falls under the same rule.
std::string bytes_of(std::string_view spelling, TokenType type) {
    if (type == TokenType::Control || type == TokenType::Unknown || type == TokenType::UserDefined)
        return std::string(spelling);
    return bytes_of_spelling(spelling).value_or(std::string(spelling));
}

}  // namespace

void TokenTable::Strings::reserve(size_t count, size_t bytes) {
    ends_.reserve(count);
    bytes_.reserve(bytes);
}

void TokenTable::Strings::add(std::string_view text) {
    bytes_ += text;
    ends_.push_back(bytes_.size());
}

std::string_view TokenTable::Strings::operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
}

TokenTable::TokenTable(const Vocabulary& vocabulary) : types_(vocabulary.types) {
    const size_t n = vocabulary.tokens.size();
    if (!types_.empty() && types_.size() != n)
        throw FormatError(vocabulary.source, "key 'tokenizer.ggml.token_type'", fmt::format("{} types", types_.size()),
                          fmt::format("one for each of the {} tokens", n));
    size_t total = 0;
    for (const std::string_view token : vocabulary.tokens) total += token.size();
    spellings_.reserve(n, total);
    pieces_.reserve(n, total);
    slots_.assign(std::bit_ceil(std::max<size_t>(2 * n, 16)), Slot{0, kNoToken});
    for (size_t i = 0; i < n; ++i) {
        const TokenId id = TokenId(i);
        const std::string_view token = vocabulary.tokens[i];
        spellings_.add(token);
        const TokenType token_type = types_.empty() ? TokenType::Normal : types_[i];
        if (token_type == TokenType::Byte) {
            const auto byte = named_byte(token);
            if (!byte)
                throw FormatError(vocabulary.source, fmt::format("key 'tokenizer.ggml.tokens', token {}", i),
                                  fmt::format("a byte token of {} characters", token.size()), "one like '<0x0A>'");
            pieces_.add({&*byte, 1});
        } else {
            pieces_.add(bytes_of(token, token_type));
        }
        if (token.empty()) continue;
        const uint32_t hash = hash_of(token);
        Slot& slot = slots_[slot_of(token, hash)];
        if (slot.id != kNoToken)
            throw FormatError(vocabulary.source, fmt::format("key 'tokenizer.ggml.tokens', token {}", i),
                              fmt::format("the spelling of token {}", slot.id), "a spelling of its own");
        slot = {hash, id};
    }
    for (size_t byte = 0; byte < 256; ++byte) of_byte_[byte] = find_plain(byte_spellings()[byte]).value_or(kNoToken);
}

size_t TokenTable::checked(TokenId id) const {
    if (id < 0 || size_t(id) >= size())
        throw Error(fmt::format("token id {} is outside the vocabulary of {} tokens", id, size()));
    return size_t(id);
}

size_t TokenTable::slot_of(std::string_view spelling, uint32_t hash) const {
    const size_t mask = slots_.size() - 1;
    for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
        const Slot& at = slots_[slot];
        if (at.id == kNoToken || (at.hash == hash && spellings_[size_t(at.id)] == spelling)) return slot;
    }
}

std::optional<TokenId> TokenTable::find(std::string_view spelling) const {
    const TokenId id = slots_[slot_of(spelling, hash_of(spelling))].id;
    return id == kNoToken ? std::nullopt : std::optional(id);
}

std::optional<TokenId> TokenTable::find_plain(std::string_view spelling) const {
    const auto id = find(spelling);
    return id && !is_special(*id) ? id : std::nullopt;
}

std::optional<TokenId> TokenTable::of_byte(unsigned char byte) const {
    if (of_byte_[byte] == kNoToken) return std::nullopt;
    return of_byte_[byte];
}

}  // namespace minfer::tokenizer
