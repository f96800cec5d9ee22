#include "cli/engine_options.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <optional>

#include "base/progress.h"

namespace minfer::cli {
namespace {

// Seldom more than a blink with the file in the system's cache; as long as the disk takes without.
class LoadProgress {
  public:
    void show(size_t done, size_t total) {
        if (!progress_) {
            progress_.emplace("load", total);
            progress_->be_quiet_for(std::chrono::seconds(1));
        }
        progress_->advance(done - done_);
        done_ = done;
        if (done < total) return;
        progress_->finish();
        progress_.reset();  // bench loads again for each number of threads
        done_ = 0;
    }

  private:
    std::optional<Progress> progress_;
    size_t done_ = 0;
};

}  // namespace

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
    app.add_flag("--no-repack{false}", options.repack,
                 "Read the weights from the mapped file, which starts at once and is shared by processes, but runs "
                 "slower; the results are the same");
    const auto progress = std::make_shared<LoadProgress>();
    options.on_loading = [progress](size_t done, size_t total) { progress->show(done, total); };
}

}  // namespace minfer::cli
