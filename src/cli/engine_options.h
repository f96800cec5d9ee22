// The options that all commands share which run a model.
#pragma once

#include "engine/engine.h"

namespace CLI {
class App;
}

namespace minfer::cli {

// -t N and the below.
void add_engine_options(CLI::App& app, engine::EngineOptions& options);

// --n-batch N, --cache-type NAME and --no-repack: all but the threads. Loading that takes longer than a second shows
// its progress on standard error.
void add_pass_options(CLI::App& app, engine::EngineOptions& options);

}  // namespace minfer::cli
