// The options that all commands share which run a model.
#pragma once

#include <CLI/CLI.hpp>

#include "engine/engine.h"

namespace minfer::cli {

// -t N and --n-batch N.
void add_engine_options(CLI::App& app, engine::EngineOptions& options);

}  // namespace minfer::cli
