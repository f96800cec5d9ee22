#include "tokenizer/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "gguf/value.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/merges.h"
#include "tokenizer/nfc.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/text_matcher.h"
#include "tokenizer/token_table.h"

namespace minfer::tokenizer {
namespace {

constexpr std::array<std::string_view, 4> kEndNames = {"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|endoftext|>"};

// HuggingFace refuses a merge of tokens that are not there, too. llama.cpp goes on, and loses text on the way back.
MergeTable read_merges(const Vocabulary& vocabulary, const TokenTable& tokens) {
    std::vector<Merge> merges;
    merges.reserve(vocabulary.merges.size());
    std::string merged;
    for (const std::string_view rule : vocabulary.merges) {
        const auto refuse = [&](std::string found, std::string expected) {
            throw FormatError(vocabulary.source, fmt::format("key 'tokenizer.ggml.merges', merge {}", merges.size()),
                              std::move(found), std::move(expected));
        };
        const size_t space = rule.find(' ');
        if (space == 0 || space == rule.npos || space + 1 == rule.size() || rule.find(' ', space + 1) != rule.npos)
            refuse(fmt::format("{} bytes that are no pair", rule.size()), "two tokens and one space between them");
        const std::string_view left = rule.substr(0, space), right = rule.substr(space + 1);
        merged.assign(left).append(right);
        const auto id_of = [&](std::string_view spelling) {
            const auto id = tokens.find_plain(spelling);
            if (!id) refuse(gguf::in_quotes(spelling), "a token of the vocabulary that is not special");
            return *id;
        };
        merges.push_back({id_of(left), id_of(right), id_of(merged)});
    }
    return MergeTable(merges);
}

void check_id(const Vocabulary& vocabulary, std::string_view name, std::optional<TokenId> id, bool needed) {
    const size_t n = vocabulary.tokens.size();
    if ((!id && !needed) || (id && *id >= 0 && size_t(*id) < n)) return;
    throw FormatError(vocabulary.source, fmt::format("key 'tokenizer.ggml.{}_token_id'", name),
                      id ? fmt::format("token id {}", *id) : "none",
                      fmt::format("an id below {}, the number of tokens", n));
}

TextMatcher matcher_of(const TokenTable& tokens, bool with_special) {
    std::vector<TextMatcher::Entry> entries;
    for (TokenId id = 0; size_t(id) < tokens.size(); ++id)
        if (tokens.type(id) == TokenType::UserDefined || (with_special && tokens.is_special(id)))
            if (!tokens.spelling(id).empty()) entries.push_back({tokens.spelling(id), id});
    return TextMatcher(std::move(entries));
}

std::vector<TokenId> ends_of(const Vocabulary& vocabulary, const TokenTable& tokens) {
    std::vector<TokenId> ends;
    for (const auto& id : {vocabulary.eos, vocabulary.eot, vocabulary.eom})
        if (id) ends.push_back(*id);
    for (const std::string_view name : kEndNames)
        if (const auto id = tokens.find(name)) ends.push_back(*id);
    std::ranges::sort(ends);
    ends.erase(std::ranges::unique(ends).begin(), ends.end());
    return ends;
}

}  // namespace

struct Tokenizer::Impl {
    explicit Impl(const Vocabulary& vocabulary)
        : pretokenizer(vocabulary.pre),
          tokens(vocabulary),
          merges(read_merges(vocabulary, tokens)),
          user_defined(matcher_of(tokens, false)),
          all_special(matcher_of(tokens, true)),
          bos(vocabulary.bos),
          eos(vocabulary.eos),
          eot(vocabulary.eot),
          eom(vocabulary.eom),
          add_bos(vocabulary.add_bos.value_or(pretokenizer.traits().add_bos)),
          add_eos(vocabulary.add_eos),
          ends(ends_of(vocabulary, tokens)) {
        check_id(vocabulary, "bos", bos, add_bos);
        check_id(vocabulary, "eos", eos, add_eos);
        check_id(vocabulary, "eot", eot, false);
        check_id(vocabulary, "eom", eom, false);
    }

    PreTokenizer pretokenizer;
    TokenTable tokens;
    MergeTable merges;
    TextMatcher user_defined, all_special;
    std::optional<TokenId> bos, eos, eot, eom;
    bool add_bos, add_eos;
    std::vector<TokenId> ends;
};

namespace {

constexpr std::string_view kTextMark = "\uFDD0";

std::string without_marks(std::string_view text) {
    std::string result;
    while (true) {
        const size_t mark = text.find(kTextMark);
        result += text.substr(0, mark);
        if (mark == text.npos) return result;
        text.remove_prefix(mark + kTextMark.size());
    }
}

// One call of encode(): what it allocates is shared by all words.
class Encoder {
  public:
    Encoder(const PreTokenizer& pretokenizer, const TokenTable& tokens, const MergeTable& merges, bool text_marks,
            std::vector<TokenId>& out)
        : pretokenizer_(pretokenizer), tokens_(tokens), merger_(merges), text_marks_(text_marks), out_(out) {}

    // Text between special tokens; well-formed.
    void add_text(std::string_view text) {
        std::string unmarked;
        if (text_marks_ && text.find(kTextMark) != text.npos) {
            unmarked = without_marks(text);
            text = unmarked;
        }
        std::string composed;
        if (pretokenizer_.traits().nfc && !scan_utf8(text).below_u0300) {
            composed = to_nfc(text);
            text = composed;
        }
        PreTokenizer::Splitter words(pretokenizer_, text);
        for (std::string_view word = words.next(); !word.empty(); word = words.next()) add_word(word);
    }

  private:
    void add_word(std::string_view word) {
        if (pretokenizer_.traits().ignore_merges) {
            spelled_.clear();
            for (const char byte : word) spelled_ += byte_spellings()[uint8_t(byte)];
            if (const auto id = tokens_.find_plain(spelled_)) {
                out_.push_back(*id);
                return;
            }
        }
        for (const char byte : word) {
            if (const auto id = tokens_.of_byte(uint8_t(byte)))
                symbols_.push_back(*id);
            else
                flush_symbols();  // nothing merges across the gap
        }
        flush_symbols();
    }

    void flush_symbols() {
        merger_.merge(symbols_, out_);
        symbols_.clear();
    }

    const PreTokenizer& pretokenizer_;
    const TokenTable& tokens_;
    Merger merger_;
    bool text_marks_;
    std::vector<TokenId>& out_;
    std::vector<TokenId> symbols_;
    std::string spelled_;
};

}  // namespace

Tokenizer::Tokenizer(const Vocabulary& vocabulary) : impl_(std::make_unique<Impl>(vocabulary)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

std::vector<TokenId> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
    std::string repaired;
    if (!scan_utf8(text).well_formed) {
        repaired = replace_each_invalid_byte(text);
        text = repaired;
    }
    std::vector<TokenId> ids;
    ids.reserve(text.size() / 4 + 2);
    if (options.add_special && impl_->add_bos) ids.push_back(*impl_->bos);
    Encoder encoder(impl_->pretokenizer, impl_->tokens, impl_->merges, options.text_marks, ids);
    const TextMatcher& matcher = options.parse_special ? impl_->all_special : impl_->user_defined;
    size_t at = 0, search = 0;
    while (const auto match = matcher.find(text, search)) {
        const std::string_view before = text.substr(at, match->begin - at);
        if (options.text_marks && is_special(match->id) && before.ends_with(kTextMark)) {
            search = match->begin + 1;
            continue;
        }
        encoder.add_text(before);
        ids.push_back(match->id);
        at = search = match->begin + match->length;
    }
    encoder.add_text(text.substr(at));
    if (options.add_special && impl_->add_eos) ids.push_back(*impl_->eos);
    return ids;
}

std::string Tokenizer::mark_as_text(std::string_view text) const {
    const std::string plain = without_marks(text);
    std::string marked;
    size_t copied = 0, search = 0;
    // The search goes on one byte after a token's start, since what follows may spell another one.
    while (const auto match = impl_->all_special.find(plain, search)) {
        search = match->begin + 1;
        if (!is_special(match->id)) continue;
        marked.append(plain, copied, match->begin - copied).append(kTextMark);
        copied = match->begin;
    }
    return marked.append(plain, copied);
}

std::string_view Tokenizer::piece(TokenId id) const { return impl_->tokens.piece(id); }

std::string Tokenizer::decode(std::span<const TokenId> ids, bool with_special) const {
    StreamDecoder decoder(*this, with_special);
    std::string text;
    for (const TokenId id : ids) text += decoder.push(id);
    return text + decoder.flush();
}

size_t Tokenizer::n_vocab() const { return impl_->tokens.size(); }
TokenType Tokenizer::type(TokenId id) const { return impl_->tokens.type(id); }
bool Tokenizer::is_special(TokenId id) const { return impl_->tokens.is_special(id); }
std::optional<TokenId> Tokenizer::find(std::string_view text) const { return impl_->tokens.find(text); }
std::optional<TokenId> Tokenizer::bos() const { return impl_->bos; }
std::optional<TokenId> Tokenizer::eos() const { return impl_->eos; }
std::optional<TokenId> Tokenizer::eot() const { return impl_->eot; }
std::optional<TokenId> Tokenizer::eom() const { return impl_->eom; }
bool Tokenizer::adds_bos() const { return impl_->add_bos; }
bool Tokenizer::adds_eos() const { return impl_->add_eos; }
std::string_view Tokenizer::pretokenizer() const { return impl_->pretokenizer.traits().name; }
bool Tokenizer::is_end_of_generation(TokenId id) const { return std::ranges::binary_search(impl_->ends, id); }
std::span<const TokenId> Tokenizer::end_of_generation() const { return impl_->ends; }

std::string StreamDecoder::push(TokenId id) {
    if (!with_special_ && tokenizer_->is_special(id)) return {};
    return stream_.push(tokenizer_->piece(id));
}

}  // namespace minfer::tokenizer
