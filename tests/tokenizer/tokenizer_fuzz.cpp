// libFuzzer: any text through any pre-tokenizer comes back, and any vocabulary is used or refused.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/nfc.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/small_vocabulary.h"
#include "tokenizer/tokenizer.h"

namespace minfer::tokenizer {
namespace {

void check(bool holds) {
    if (!holds) std::abort();
}

void check_text(std::string_view text, const Tokenizer& tokenizer) {
    const bool nfc = tokenizer.pretokenizer() == "qwen2";
    const std::string repaired = replace_each_invalid_byte(text);
    for (const bool parse_special : {false, true}) {
        const auto ids = tokenizer.encode(text, {.add_special = false, .parse_special = parse_special});
        const std::string back = tokenizer.decode(ids, true);
        check(nfc ? to_nfc(back) == to_nfc(repaired) : back == repaired);
        if (!parse_special)
            for (const TokenId id : ids) check(!tokenizer.is_special(id));
    }
}

// Lines are tokens, those with a space in them merges; the type of a token is in the low bits of its length.
void check_vocabulary(std::string_view text) {
    Vocabulary vocabulary;
    vocabulary.source = "fuzz";
    vocabulary.pre = "llama-bpe";
    vocabulary.add_bos = false;
    const std::string_view all = text;
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.find(' ') != line.npos) {
            vocabulary.merges.push_back(line);
        } else {
            vocabulary.tokens.push_back(line);
            vocabulary.types.push_back(TokenType(line.size() % 7));
        }
    }
    try {
        const Tokenizer tokenizer(vocabulary);
        for (const TokenId id : tokenizer.encode(all, {.add_special = true, .parse_special = true}))
            tokenizer.piece(id);
    } catch (const Error&) {
    }
}

}  // namespace
}  // namespace minfer::tokenizer

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using minfer::tokenizer::Tokenizer;
    static const std::vector<Tokenizer> tokenizers = [] {
        std::vector<Tokenizer> all;
        for (const auto& traits : minfer::tokenizer::all_pretokenizers())
            all.emplace_back(minfer::test::SmallVocabulary(std::string(traits.name)).vocabulary);
        return all;
    }();
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    const size_t which = data[0] % (tokenizers.size() + 1);
    if (which < tokenizers.size())
        minfer::tokenizer::check_text(text, tokenizers[which]);
    else
        minfer::tokenizer::check_vocabulary(text);
    return 0;
}
