// Records that hf_oracle.py and the peer's tokenize program write: what another tokenizer made of many texts. Each is a
// letter and its fields (numbers are little-endian u32; strings and lists begin with their length):
//   E add_special parse_special text ids   encoding
//   D with_special ids text                decoding
//   P id bytes                             a token's bytes
//   S pre-tokenizer text ends              where its words end, in bytes
//   N text composed                        normal form C
#pragma once

#include <cstddef>
#include <filesystem>

#include "tokenizer/tokenizer.h"

namespace minfer::test {

struct RecordCounts {
    size_t encoded = 0, decoded = 0, pieces = 0, cut = 0, composed = 0;
};

// Expects minfer to make the same of everything in the file. `tokenizer` may be null where no record needs one. Stops
// after ten differences, which are test failures.
RecordCounts expect_the_same(const std::filesystem::path& records, const tokenizer::Tokenizer* tokenizer);

}  // namespace minfer::test
