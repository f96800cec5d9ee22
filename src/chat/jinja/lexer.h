// A template's text to tokens, with Jinja2's whitespace rules as HuggingFace sets them: trim_blocks, lstrip_blocks, no
// newline kept at the end of the template.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/jinja/ast.h"

namespace minfer::chat::jinja {

struct Token {
    // Jinja2's name of the token's type: "name", "string", "integer", "block_end", "add", "eof" ...
    std::string_view type;
    std::string text;  // of a name, a string (unescaped), data or a failure
    Value value;       // of a number
    std::string_view failure_type;
    Position position;
};

// The last token is "eof", or "failure" where the text has a mistake: Jinja2's lexer runs beside its parser, so a
// mistake counts only once the parser gets there. Its text is the message.
std::vector<Token> tokenize(std::string_view source);

}  // namespace minfer::chat::jinja
