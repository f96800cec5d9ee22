// The options that all commands share which run a model.
#pragma once

#include "engine/engine.h"

namespace CLI {
class App;
}

namespace minfer::cli {

// -t N and the below.
void add_engine_options(CLI::App& app, engine::EngineOptions& options);

// --n-batch N: all but the threads.
void add_pass_options(CLI::App& app, engine::EngineOptions& options);

}  // namespace minfer::cli
