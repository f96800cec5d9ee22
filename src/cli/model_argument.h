// What the word MODEL of a command line stands for.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace minfer::cli {

// Where fetched models lie: $XDG_CACHE_HOME/minfer/models, or ~/.cache/minfer/models.
std::filesystem::path models_folder();

// Whether the word is a model: it ends in .gguf, has a scheme (hf:, ollama:), names a file, or names a cached model,
// with or without .gguf. Any other is a prompt.
bool names_model(const std::string& word);

// The path of the file. Throws UnsupportedError for a scheme, and Error, saying what was looked for, where there is no
// such file.
std::string model_file(const std::string& word);

// The model of a command line that names none. Throws Error, saying how to get it, where it is not cached.
std::string default_model_file();

}  // namespace minfer::cli
