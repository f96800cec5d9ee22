#include "cli/generate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "cli/engine_options.h"
#include "cli/interrupt.h"
#include "cli/model_argument.h"
#include "cli/parse.h"
#include "cli/read_input.h"
#include "cli/sampling_options.h"
#include "cli/template_options.h"
#include "engine/generate.h"

namespace minfer::cli {
namespace {

struct Arguments {
    std::vector<std::string> words;  // [MODEL] [PROMPT]
    engine::EngineOptions engine;
    engine::GenerationOptions generation;
    SamplingOptions sampling;
    std::string dump_graph;
    TemplateOptions prompt_template;
};

struct Job {
    std::string model;
    std::string prompt;
};

void declare(CLI::App& app, Arguments& a) {
    a.generation.n_predict = 256;
    app.add_option(
           "words", a.words,
           "MODEL [PROMPT]. MODEL is a file or a cached name. Without a PROMPT it comes from standard input, less "
           "one newline at its end; without a MODEL the default one is used")
        ->expected(0, 2)
        ->type_name("[MODEL] [PROMPT]");
    app.add_option("-n,--n-predict", a.generation.n_predict, "Tokens to generate at most; 0: until the context is full")
        ->check(CLI::Range(0, 1 << 24))
        ->capture_default_str()
        ->type_name("N");
    app.add_option(
           "--n-ctx", a.engine.n_ctx,
           fmt::format("Tokens that prompt and text may have together; default: {}, or what the model was trained "
                       "on if less",
                       engine::kDefaultContext))
        ->check(CLI::Range(1, 1 << 24))
        ->type_name("N");
    app.add_option("--stop", a.generation.stop, "Stop where this text comes; may be given more than once")
        ->expected(1)
        ->take_all()
        ->type_name("TEXT");
    app.add_flag("--ignore-eos", a.generation.ignore_eos, "Go on after tokens that end a text");
    add_template_options(app, a.prompt_template);
    app.add_option("--dump-graph", a.dump_graph, "Also write the graph of a decode step, in Graphviz's language")
        ->type_name("FILE.dot");
    a.sampling.declare(app);
    add_engine_options(app, a.engine);
}

Job job(const std::vector<std::string>& words) {
    if (words.size() == 2) return {model_file(words[0]), words[1]};
    if (words.size() == 1 && !names_model(words[0])) return {default_model_file(), words[0]};
    Job job{words.empty() ? default_model_file() : model_file(words[0]), read_standard_input()};
    if (job.prompt.ends_with('\n')) job.prompt.pop_back();
    return job;
}

// The prompt as a user's message, after a system's where there is one.
std::vector<engine::TokenId> encode_prompt(engine::Engine& engine, const TemplateOptions& options,
                                           const std::string& prompt) {
    std::vector<chat::Message> messages;
    if (options.system) messages.push_back({"system", *options.system});
    messages.push_back({"user", prompt});
    return message_encoder(engine, options)(messages);
}

void write_out(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        throw IoError("standard output", "write", errno);
}

void write_file(const std::string& path, std::string_view text) {
    AtomicFile file(path);
    file.write(std::as_bytes(std::span(text)));
    file.commit();
}

double rate(size_t n, double seconds) { return seconds > 0 ? double(n) / seconds : 0.0; }

void report(const engine::Generation& g, const Arguments& a, double load_seconds) {
    if (isatty(STDOUT_FILENO)) fmt::print(stderr, "\n");
    if (g.reason == engine::StopReason::ContextFull)
        fmt::print(stderr, "minfer: the context is full; --n-ctx makes it larger\n");
    const sampling::SamplerParams& s = a.generation.sampling;
    const std::string seed = s.greedy || s.temperature == 0 ? "" : fmt::format(", seed {}", s.seed);
    // The first token costs no pass of its own: its logits are the prompt's.
    const size_t n_pass = g.tokens.empty() ? 0 : g.tokens.size() - 1;
    fmt::print(stderr, "load {:.2f} s; prompt {} tokens, {:.1f} tokens/s; generated {} tokens, {:.1f} tokens/s{}\n",
               load_seconds, g.n_prompt, rate(g.n_prompt, g.prompt_seconds), g.tokens.size(),
               rate(n_pass, g.generation_seconds), seed);
}

}  // namespace

int generate(const std::vector<std::string>& args) {
    CLI::App app("Generates text.", "minfer");
    Arguments a;
    declare(app, a);
    if (const std::optional<int> status = parse(app, args)) return *status;
    a.generation.sampling = a.sampling.params();
    const Job job = cli::job(a.words);
    if (job.prompt.empty()) throw Error("the prompt is empty");

    const auto start = std::chrono::steady_clock::now();
    engine::Engine engine(job.model, a.engine);
    const std::vector<engine::TokenId> prompt = encode_prompt(engine, a.prompt_template, job.prompt);
    const double load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!a.dump_graph.empty()) write_file(a.dump_graph, engine.decode_graph_dot());

    const Interrupt interrupt;
    const engine::Generation generation =
        engine::generate(engine, 0, prompt, a.generation, write_out, [&] { return interrupt.interrupted(); });
    report(generation, a, load_seconds);
    return generation.reason == engine::StopReason::Interrupted ? kInterruptedStatus : 0;
}

}  // namespace minfer::cli
