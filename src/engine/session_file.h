// A conversation in a file, with the keys and values of its tokens: who comes back to it computes nothing anew.
//
//   offset  bytes
//        0      8  "minfer\x1a\n"
//        8      4  version, 1; numbers are little-endian
//       12      4  type of the cells: 0 f32, 1 f16, 3 q8_0 (2 was q8_0 without its rotation)
//       16      8  layers
//       24      8  bytes of a cell's keys in one layer
//       32      8  bytes of a cell's values in one layer
//       40      8  bytes of the text
//       48      8  tokens
//       56     64  the model's identity (model_identity.h), and like the next three in hexadecimal digits
//      120     64  SHA-256 of the text
//      184     64  SHA-256 of all that follows the text
//      248     64  SHA-256 of bytes 0 to 247
//      312         the text
//                  the tokens, int32 each
//                  for each layer the keys of all tokens, then their values, as the cells hold them
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace minfer::engine {

// Writes what the sequence holds, which is these tokens, and a text. The file is replaced whole or stays as it was.
// `before_commit`, where it is given, is called when all is written and only the file's name is wanting; what it throws
// leaves the file as it was. Throws IoError, and ShapeError where the sequence holds another number of tokens.
void save_session(const std::string& path, Engine& engine, SequenceId sequence, const std::string& identity,
                  const std::string& text, std::span<const TokenId> tokens,
                  const std::function<void()>& before_commit = {});

struct LoadedSession {
    std::string text;
    std::vector<TokenId> tokens;  // that the sequence now holds
    std::string problem;          // why these could not be taken, so that there are none; else empty
};

// Reads one into an empty sequence, nothing where there is no file. The text is given wherever it is whole, even if all
// else is damaged, or of another model, other cells or a larger context. Throws FormatError, saying what was found and
// expected, where it is not, or the file is none of these; UnsupportedError for another version; IoError.
std::optional<LoadedSession> load_session(const std::string& path, Engine& engine, SequenceId sequence,
                                          const std::string& identity);

}  // namespace minfer::engine
