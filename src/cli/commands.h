// The subcommands, each defined in the file of its name.
#pragma once

#include "cli/command.h"

namespace minfer::cli {

extern const Command kBenchCommand;
extern const Command kCompareCommand;
extern const Command kConvertCommand;
extern const Command kInfoCommand;
extern const Command kLogitsCommand;
extern const Command kMergeCommand;
extern const Command kPerplexityCommand;
extern const Command kQuantizeCommand;
extern const Command kRenderCommand;
extern const Command kSplitCommand;
extern const Command kTokenizeCommand;
extern const Command kVerifyCommand;

}  // namespace minfer::cli
