// The subcommands, each defined in the file of its name.
#pragma once

#include "cli/command.h"

namespace minfer::cli {}  // namespace minfer::cli
