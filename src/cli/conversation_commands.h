// The commands of a conversation: lines that begin with a slash.
#pragma once

#include <string>

#include "cli/conversation.h"

namespace minfer::cli {

enum class After { GoOn, Interrupted, Leave };

// Runs "/NAME ARGUMENT". Throws Error, which is for the user to read, for a command that there is not or that fails;
// the conversation is then as it was.
After run_command(Talk& talk, const std::string& line);

}  // namespace minfer::cli
