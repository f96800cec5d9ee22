// libFuzzer: any bytes as a tokenizer.json become tokens, or a FormatError; what was read has a name, or is refused.
#include <cstdint>
#include <string>

#include "base/error.h"
#include "convert/special_tokens.h"
#include "convert/token_list.h"
#include "convert/tokenizer_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace minfer::convert;
    std::string text;
    text.reserve(size + 64);  // simdjson reads past the end
    text.assign(reinterpret_cast<const char*>(data), size);
    const Json empty = Json::object();
    const JsonObject none("fuzz", "", empty);
    try {
        const TokenizerJson tokenizer = parse_tokenizer_json(text, "fuzz");
        make_token_list(tokenizer, none, 1000);
        read_special_tokens(tokenizer, none, none, 1000);
        static_cast<void>(tokenizer.pre_tokenizer_name());
    } catch (const minfer::FormatError&) {
    } catch (const minfer::UnsupportedError&) {
    }
    return 0;
}
