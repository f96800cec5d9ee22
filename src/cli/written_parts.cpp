#include "cli/written_parts.h"

#include <fmt/format.h>

#include "base/byte_size.h"
#include "base/printable.h"

namespace minfer::cli {

void print_parts(const gguf::Writer& out) {
    for (const gguf::Writer::PlannedPart& part : out.plan())
        fmt::print("{}: {} tensor{}, {} ({} bytes)\n", printable(part.path), part.n_tensors,
                   part.n_tensors == 1 ? "" : "s", format_byte_size(part.file_bytes()), part.file_bytes());
}

}  // namespace minfer::cli
