#include "cli/generate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/error.h"
#include "cli/conversation.h"
#include "cli/engine_options.h"
#include "cli/generate_arguments.h"
#include "cli/interrupt.h"
#include "cli/model_argument.h"
#include "cli/not_empty.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "cli/read_input.h"
#include "cli/session.h"
#include "engine/conversation.h"

namespace minfer::cli {
namespace {

constexpr size_t kDefaultPredict = 256;

struct Job {
    std::string model;
    std::optional<std::string> prompt;
};

void add_conversation_options(CLI::App& app, ConversationOptions& c) {
    auto* on =
        app.add_flag("--cnv", c.on, "Hold a conversation; PROMPT is its first message. /help lists its commands");
    app.add_flag("--single-turn", c.single_turn, "Leave after one reply; also -st")->needs(on);
    app.add_flag("--multiline-input", c.multiline, "A message ends with a line that ends in a backslash; also -mli")
        ->needs(on);
    app.add_flag("--hide-thinking", c.hide_thinking, "Leave out what the model thinks before it answers")->needs(on);
    app.add_flag("--stats", c.stats, "Tell tokens and speed after each reply")->needs(on);
    app.add_option("--color", c.color, "Colours: on, off, or auto, which is on in a terminal unless NO_COLOR is set")
        ->check(CLI::IsMember({"on", "off", "auto"}))
        ->capture_default_str()
        ->needs(on)
        ->type_name("WHEN");
}

void declare(CLI::App& app, GenerateArguments& a) {
    app.add_option(
           "words", a.words,
           "MODEL [PROMPT]. MODEL is a file or a cached name. Without a PROMPT it comes from standard input, less "
           "one newline at its end; without a MODEL the default one is used")
        ->expected(0, 2)
        ->type_name("[MODEL] [PROMPT]");
    app.add_option(
           "-n,--n-predict", a.n_predict,
           fmt::format("Tokens to generate at most; 0: until the context is full; default: {}, in a conversation "
                       "half the context",
                       kDefaultPredict))
        ->check(CLI::Range(0, 1 << 24))
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
    app.add_option("--session", a.session,
                   "Keep the conversation in this file, with the model's state, and go on from it where it is there")
        ->check(not_empty)
        ->type_name("FILE");
    app.add_option("--dump-graph", a.dump_graph, "Also write the graph of a decode step, in Graphviz's language")
        ->type_name("FILE.dot");
    a.sampling.declare(app);
    add_engine_options(app, a.engine);
    add_conversation_options(app, a.conversation);
}

Job job(const std::vector<std::string>& words) {
    if (words.size() == 2) return {model_file(words[0]), words[1]};
    if (words.size() == 1 && !names_model(words[0])) return {default_model_file(), words[0]};
    return {words.empty() ? default_model_file() : model_file(words[0]), std::nullopt};
}

std::string prompt_from_standard_input() {
    std::string prompt = read_standard_input();
    if (prompt.ends_with('\n')) prompt.pop_back();
    return prompt;
}

// CLI11 has no names of several letters after one dash, which llama.cpp's users type.
std::vector<std::string> long_names(std::vector<std::string> args) {
    for (std::string& word : args) {
        if (word == "-st") word = "--single-turn";
        if (word == "-mli") word = "--multiline-input";
        if (word == "-jf") word = "--json-schema-file";
    }
    return args;
}

void report(const engine::Generation& g, const GenerateArguments& a, double load_seconds) {
    if (isatty(STDOUT_FILENO)) fmt::print(stderr, "\n");
    if (g.reason == engine::StopReason::ContextFull)
        fmt::print(stderr, "minfer: the context is full; --n-ctx makes it larger\n");
    const sampling::SamplerParams& s = a.generation.sampling;
    const std::string seed = s.greedy || s.temperature == 0 ? "" : fmt::format(", seed {}", s.seed);
    const std::string computed = g.n_computed == g.n_prompt ? "" : fmt::format("{} of them computed, ", g.n_computed);
    fmt::print(stderr, "load {:.2f} s; prompt {} tokens, {}{:.1f} tokens/s; generated {} tokens, {:.1f} tokens/s{}\n",
               load_seconds, g.n_prompt, computed, g.prompt_rate(), g.tokens.size(), g.generation_rate(), seed);
}

}  // namespace

int generate(const std::vector<std::string>& args) {
    CLI::App app("Generates text.", "minfer");
    GenerateArguments a;
    declare(app, a);
    if (const std::optional<int> status = parse(app, long_names(args))) return *status;
    a.take_sampling();
    a.seed_given = app.count("--seed") > 0;
    a.engine.texts = true;
    const Job job = cli::job(a.words);
    if (a.conversation.on) return converse(a, job.model, job.prompt);
    const std::string prompt = job.prompt ? *job.prompt : prompt_from_standard_input();
    if (prompt.empty()) throw Error("the prompt is empty");
    a.generation.n_predict = a.n_predict.value_or(kDefaultPredict);

    const auto start = std::chrono::steady_clock::now();
    engine::Engine engine(job.model, a.engine);
    engine::Conversation conversation(engine, 0, message_encoder(engine, a.prompt_template));
    std::optional<Session> session =
        open_session(a, engine, conversation, a.generation.sampling.seed,
                     [](const std::string& text) { fmt::print(stderr, "minfer: {}\n", text); });
    if (a.prompt_template.system) conversation.set_system(*a.prompt_template.system);
    const double load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!a.dump_graph.empty()) write_file(a.dump_graph, engine.decode_graph_dot());

    const Interrupt interrupt;
    const engine::Generation generation =
        conversation.ask(prompt, a.generation,
                         {.started = {},
                          .text = write_out,
                          .dropped = [](size_t n) { fmt::print(stderr, "minfer: {}\n", dropped_text(n)); },
                          .interrupted = [&] { return interrupt.interrupted(); }});
    if (session) session->save(conversation, a.generation.sampling.seed);
    report(generation, a, load_seconds);
    return generation.reason == engine::StopReason::Interrupted ? kInterruptedStatus : 0;
}

}  // namespace minfer::cli
