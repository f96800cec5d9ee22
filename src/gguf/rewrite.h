// A model as it stands, in other files: what split and merge are made of.
#pragma once

#include "base/progress.h"
#include "gguf/reader.h"
#include "gguf/writer.h"

namespace minfer::gguf {

// Gives `out` the source's metadata but its split.* keys, and its tensors, each with the number of dimensions that the
// source wrote; so a file that was split comes back byte for byte. Guards the source's files.
void rewrite_header(const Gguf& source, Writer& out);

// Whether the source is laid out as the writer does it, split.* keys and padding bytes included, so that a copy of it
// is the same file. Reads the header and the padding.
bool is_canonical(const Gguf& source);

// After rewrite_header: begins, copies every tensor, and commits.
void rewrite_tensors(const Gguf& source, Writer& out, Progress& progress);

}  // namespace minfer::gguf
