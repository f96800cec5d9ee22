#include "tokenizer/pretokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "base/error.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace minfer::tokenizer {
namespace {

// The expressions of the models' tokenizer.json files, with two changes that change no match.
//   \p{WSpace} for \s: PCRE2's \s holds U+180E, which is no white space since Unicode 6.3; Oniguruma's is White_Space.
//   Possessive repeats, where what follows cannot match what was taken: no backtracking, so a run of any length costs
//   its length and no stack. Only \s* before [\r\n]+, and \s+ before its look-ahead, have to give characters back.
#define MINFER_CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define MINFER_WORDS "[^\\r\\n\\p{L}\\p{N}]?\\p{L}++"
#define MINFER_REST                                                    \
    " ?[^\\p{WSpace}\\p{L}\\p{N}]++[\\r\\n]*+|\\p{WSpace}*[\\r\\n]++|" \
    "\\p{WSpace}+(?!\\P{WSpace})|\\p{WSpace}++"

constexpr std::string_view kQwen2 = MINFER_CONTRACTIONS "|" MINFER_WORDS "|\\p{N}|" MINFER_REST;
constexpr std::string_view kLlama3 = MINFER_CONTRACTIONS "|" MINFER_WORDS "|\\p{N}{1,3}+|" MINFER_REST;
constexpr std::string_view kGpt2 =
    "'(?:s|t|re|ve|m|ll|d)| ?\\p{L}++| ?\\p{N}++| ?[^\\p{WSpace}\\p{L}\\p{N}]++|"
    "\\p{WSpace}+(?!\\P{WSpace})|\\p{WSpace}++";
// Two steps in tokenizer.json: every number character alone, then GPT-2's expression between them. In one: white space
// before a number is at the end of its piece, so it stays whole.
constexpr std::string_view kSmolLm =
    "\\p{N}|'(?:s|t|re|ve|m|ll|d)| ?\\p{L}++| ?[^\\p{WSpace}\\p{L}\\p{N}]++|"
    "\\p{WSpace}+(?![^\\p{WSpace}\\p{N}])|\\p{WSpace}++";

#undef MINFER_CONTRACTIONS
#undef MINFER_WORDS
#undef MINFER_REST

constexpr std::array<PreTokenizerTraits, 6> kAll = {{
    {.name = "qwen2", .pattern = kQwen2, .nfc = true},
    {.name = "llama-bpe", .pattern = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "llama3", .pattern = kLlama3, .ignore_merges = true, .add_bos = true},    // older names of llama-bpe
    {.name = "llama-v3", .pattern = kLlama3, .ignore_merges = true, .add_bos = true},  //
    {.name = "smollm", .pattern = kSmolLm},
    {.name = "gpt-2", .pattern = kGpt2},
}};

const PreTokenizerTraits& traits_of(std::string_view name) {
    const auto found = std::ranges::find(kAll, name, &PreTokenizerTraits::name);
    if (found != kAll.end()) return *found;
    std::string names;
    for (const auto& traits : kAll) names += fmt::format("{}{}", names.empty() ? "" : ", ", traits.name);
    throw UnsupportedError(fmt::format("unsupported pre-tokenizer '{}'; supported: {}", name, names));
}

std::string message_of(int error) {
    std::array<PCRE2_UCHAR, 256> text = {};
    pcre2_get_error_message(error, text.data(), text.size());
    return reinterpret_cast<const char*>(text.data());
}

struct Free {
    void operator()(pcre2_code* p) const { pcre2_code_free(p); }
    void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
    void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
};

}  // namespace

std::span<const PreTokenizerTraits> all_pretokenizers() { return kAll; }

struct PreTokenizer::Compiled {
    std::unique_ptr<pcre2_code, Free> code;
    std::unique_ptr<pcre2_match_context, Free> limits;
    bool jit = false;
};

PreTokenizer::PreTokenizer(std::string_view name) : traits_(&traits_of(name)), compiled_(std::make_unique<Compiled>()) {
    int error = 0;
    size_t where = 0;
    compiled_->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(traits_->pattern.data()), traits_->pattern.size(),
                                        PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED | PCRE2_NEVER_BACKSLASH_C, &error,
                                        &where, nullptr));
    if (!compiled_->code) throw Error(fmt::format("pre-tokenizer '{}': at {}: {}", name, where, message_of(error)));
    // Where the system forbids memory that is written and then run, the interpreter gives the same matches.
    compiled_->jit = pcre2_jit_compile(compiled_->code.get(), PCRE2_JIT_COMPLETE) == 0;
    // PCRE2's limits guard against expressions with exponential backtracking; these have none, and a long run of spaces
    // may count for more steps than the default allows.
    compiled_->limits.reset(pcre2_match_context_create(nullptr));
    if (!compiled_->limits) throw std::bad_alloc();
    pcre2_set_match_limit(compiled_->limits.get(), UINT32_MAX);
    pcre2_set_depth_limit(compiled_->limits.get(), UINT32_MAX);
    pcre2_set_heap_limit(compiled_->limits.get(), UINT32_MAX);
}

PreTokenizer::~PreTokenizer() = default;
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;

struct PreTokenizer::Splitter::State {
    const Compiled& compiled;
    std::string_view text;
    size_t at = 0;
    std::unique_ptr<pcre2_match_data, Free> match;
};

PreTokenizer::Splitter::Splitter(const PreTokenizer& pretokenizer, std::string_view text)
    : state_(new State{*pretokenizer.compiled_, text, 0,
                       std::unique_ptr<pcre2_match_data, Free>(pcre2_match_data_create(1, nullptr))}) {
    if (!state_->match) throw std::bad_alloc();
}

PreTokenizer::Splitter::~Splitter() = default;

std::string_view PreTokenizer::Splitter::next() {
    State& s = *state_;
    if (s.at == s.text.size()) return {};
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(s.text.data());
    const auto match = s.compiled.jit ? pcre2_jit_match : pcre2_match;
    const int result = match(s.compiled.code.get(), subject, s.text.size(), s.at, PCRE2_NO_UTF_CHECK, s.match.get(),
                             s.compiled.limits.get());
    if (result < 0) throw Error(fmt::format("pre-tokenizer: at byte {}: {}", s.at, message_of(result)));
    const size_t end = pcre2_get_ovector_pointer(s.match.get())[1];
    const std::string_view word = s.text.substr(s.at, end - s.at);
    s.at = end;
    return word;
}

}  // namespace minfer::tokenizer
