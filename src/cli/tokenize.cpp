// minfer tokenize: the token ids of a text, as the model would see it.
#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/model_argument.h"
#include "cli/parse.h"
#include "cli/read_input.h"
#include "gguf/reader.h"
#include "tokenizer/tokenizer.h"

namespace minfer::cli {
namespace {

using tokenizer::TokenId;
using tokenizer::Tokenizer;
using tokenizer::Utf8Sequence;

// In double quotes, on one line: quotes, backslashes and newlines escaped as in C, control characters and bytes that
// are no whole character as \xNN.
std::string in_double_quotes(std::string_view piece) {
    std::string out = "\"";
    while (!piece.empty()) {
        const Utf8Sequence first = tokenizer::first_sequence(piece);
        const char c = piece[0];
        if (first.state != Utf8Sequence::State::Whole || (first.length == 1 && (uint8_t(c) < 0x20 || c == 0x7f))) {
            for (const char byte : piece.substr(0, first.length))
                out += byte == '\n' ? "\\n" : byte == '\t' ? "\\t" : fmt::format("\\x{:02x}", uint8_t(byte));
        } else {
            if (c == '"' || c == '\\') out += '\\';
            out += piece.substr(0, first.length);
        }
        piece.remove_prefix(first.length);
    }
    return out + '"';
}

void print_lines(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
    std::string out;
    for (const TokenId id : ids)
        fmt::format_to(std::back_inserter(out), "{:>8}  {}\n", id, in_double_quotes(tokenizer.piece(id)));
    fmt::print("{}", out);
}

void print_json(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
    nlohmann::ordered_json json;
    json["tokens"] = ids;
    json["pieces"] = nlohmann::ordered_json::array();
    for (const TokenId id : ids) json["pieces"].push_back(tokenizer.piece(id));
    fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

int run(const std::vector<std::string>& args) {
    CLI::App app("Prints the token ids of TEXT and the bytes of each, one token a line.", "minfer tokenize");
    std::string model;
    std::optional<std::string> text;
    bool json = false, ids_only = false, no_special = false, no_parse_special = false;
    app.add_option("MODEL", model, "A GGUF file, of which only the metadata is read, or a cached name")->required();
    app.add_option("TEXT", text, "The text; without it, all of standard input, its last newline included");
    auto* json_flag = app.add_flag("--json", json,
                                   R"(One object, {"tokens":[...],"pieces":[...]}; in pieces, bytes that are no whole )"
                                   "character are U+FFFD");
    app.add_flag("--ids", ids_only, "The ids alone, on one line, as minfer logits --tokens takes them")
        ->excludes(json_flag);
    app.add_flag("--no-special", no_special, "Do not add the tokens with which the model wants text to begin and end");
    app.add_flag("--no-parse-special", no_parse_special,
                 "Take special tokens spelled in the text (<|im_start|>) as plain text");
    if (const auto status = parse(app, args)) return *status;

    const auto file = gguf::Gguf::open(model_file(model), gguf::Gguf::Access::Read);
    const Tokenizer tokenizer = Tokenizer::from_gguf(file);
    const auto ids = tokenizer.encode(text ? *text : read_standard_input(),
                                      {.add_special = !no_special, .parse_special = !no_parse_special});
    if (json)
        print_json(tokenizer, ids);
    else if (ids_only)
        fmt::print("{}\n", fmt::join(ids, " "));
    else
        print_lines(tokenizer, ids);
    return 0;
}

}  // namespace

const Command kTokenizeCommand = {"tokenize", "print the token ids of a text", run};

}  // namespace minfer::cli
