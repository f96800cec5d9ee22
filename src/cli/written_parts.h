// The closing lines of a command that writes a model.
#pragma once

#include "gguf/writer.h"

namespace minfer::cli {

// On standard output, for each file that `out` writes or would write: "PATH: 39 tensors, 39.4 MiB (41273984 bytes)".
void print_parts(const gguf::Writer& out);

}  // namespace minfer::cli
