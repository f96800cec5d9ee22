// GBNF, llama.cpp's notation for grammars: docs/sampling.md has it all.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "sampling/grammar/grammar.h"

namespace minfer::sampling::grammar {

// The token spelled so, "<think>" with its brackets, or nothing.
using FindToken = std::function<std::optional<int32_t>(std::string_view)>;

// The rule `root` is where text starts. Throws FormatError with line and column for what is not GBNF, for a rule that
// is missing or defined twice, and for a token that there is not; UnsupportedError for left recursion.
Grammar parse_gbnf(std::string_view text, const FindToken& find_token);

}  // namespace minfer::sampling::grammar
