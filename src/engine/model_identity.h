// What tells one model from another, to the last bit that changes what it computes.
#pragma once

#include <string>

#include "base/threads.h"
#include "gguf/reader.h"

namespace minfer::engine {

// SHA-256, in hexadecimal digits, of all metadata but general.* and split.*, and of every tensor's name, type, shape
// and bytes, in the order of their names: the same for a file in one part and in several. Reads the whole file, at
// about the speed of memory with as many threads as it takes.
std::string model_identity(const gguf::Gguf& file, ThreadPool& threads);

}  // namespace minfer::engine
