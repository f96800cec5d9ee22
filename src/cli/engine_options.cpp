#include "cli/engine_options.h"

#include <CLI/CLI.hpp>

namespace minfer::cli {

void add_engine_options(CLI::App& app, engine::EngineOptions& options) {
    app.add_option("-t,--threads", options.n_threads, "Threads; default: one for each CPU that minfer may run on")
        ->check(CLI::Range(1, ThreadPool::kMaxThreads))
        ->type_name("N");
    add_pass_options(app, options);
}

void add_pass_options(CLI::App& app, engine::EngineOptions& options) {
    app.add_option("--n-batch", options.n_batch, "Tokens of a prompt that go through the model at a time")
        ->check(CLI::Range(1, 1 << 24))
        ->capture_default_str()
        ->type_name("N");
    app.add_option_function<std::string>(
           "--cache-type", [&options](const std::string& name) { options.cell_type = kv::cell_type_from_name(name); },
           "How the cache keeps keys and values: f32, f16 or q8_0; default: MINFER_CACHE_TYPE, or f32")
        ->check(CLI::IsMember({"f32", "f16", "q8_0"}))
        ->type_name("TYPE");
}

}  // namespace minfer::cli
