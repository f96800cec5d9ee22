// minfer perplexity: how well a model predicts a text.
#include "engine/perplexity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/progress.h"
#include "cli/commands.h"
#include "cli/engine_options.h"
#include "cli/interrupt.h"
#include "cli/model_argument.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "cli/read_input.h"

namespace minfer::cli {
namespace {

int run(const std::vector<std::string>& args) {
    CLI::App app(
        fmt::format("Measures the perplexity of a text in chunks of {} tokens, whose second half is scored, as "
                    "llama.cpp does.",
                    engine::kPerplexityChunk),
        "minfer perplexity");
    std::string model, text;
    size_t n_chunks = 0;
    bool json = false;
    engine::EngineOptions options;
    app.add_option("MODEL", model, "A GGUF file or a cached name")->required();
    app.add_option("FILE", text, "The text")->required();
    app.add_option("--chunks", n_chunks, "Chunks at most; default: all of the text")->check(CLI::Range(1, 1 << 24));
    app.add_flag("--json", json, "Print one JSON object, with every digit");
    add_engine_options(app, options);
    if (const std::optional<int> status = parse(app, args)) return *status;

    options.n_ctx = engine::kPerplexityChunk;
    options.texts = true;
    const std::string content = read_whole_file(text);
    engine::Engine engine(model_file(model), options);
    const std::vector<engine::TokenId> tokens = engine.tokenizer().encode(content);
    const bool prints_chunks = !json;
    const bool one_terminal = isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
    std::optional<Progress> progress(std::in_place, "perplexity", content.size());
    size_t n_told = 0;  // bytes of the text that the bar knows of
    const Interrupt interrupt;
    const engine::Perplexity result = engine::perplexity(
        engine, tokens, n_chunks,
        [&](size_t done, size_t total, double value) {
            // On one terminal the line takes the bar's place, and the bar is drawn anew below it.
            if (prints_chunks) write_out(fmt::format("{}[{}] {:.4f}\n", one_terminal ? "\r\033[K" : "", done, value));
            progress->item(fmt::format("chunk {} of {}: {:.4f}", done, total, value));
            const size_t n_bytes = content.size() * done / total;
            progress->advance(n_bytes - std::exchange(n_told, n_bytes));
        },
        [&] { return interrupt.interrupted(); });
    if (result.interrupted) {
        progress.reset();  // takes the bar off the screen
        fmt::print(stderr, "minfer perplexity: interrupted after {} chunks\n", result.chunks.size());
        return kInterruptedStatus;
    }
    progress->finish();
    if (!std::isfinite(result.nll)) throw Error("the text has a token to which the model gives no probability at all");
    if (json)
        // {} prints the shortest digits that read back as the same double.
        fmt::print("{{\"perplexity\": {}, \"nll\": {}, \"chunks\": [{}]}}\n", result.perplexity, result.nll,
                   fmt::join(result.chunks, ", "));
    else
        fmt::print("perplexity {:.4f}, {:.5f} nats a token, {} chunks\n", result.perplexity, result.nll,
                   result.chunks.size());
    return 0;
}

}  // namespace

const Command kPerplexityCommand = {"perplexity", "measure how well a model predicts a text", run};

}  // namespace minfer::cli
