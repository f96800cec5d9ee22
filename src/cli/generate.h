// minfer MODEL [PROMPT]: generates text. It has no name of its own: main.cpp comes here where no command's name stands.
#pragma once

#include <string>
#include <vector>

namespace minfer::cli {

// Throws as Command::run does.
int generate(const std::vector<std::string>& args);

}  // namespace minfer::cli
