#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "base/error.h"
#include "cli/conversation.h"
#include "cli/interrupt.h"
#include "sampling/make_sampler.h"

namespace minfer::cli {
namespace {

// The options that /set may change, bound to `settings`.
void declare_settings(CLI::App& app, GenerateArguments& settings) {
    app.set_help_flag();
    settings.sampling.declare(app);
    app.add_option("--n-predict", settings.n_predict)->check(CLI::Range(0, 1 << 24));
    app.add_option("--stop", settings.generation.stop)->expected(1);
    app.add_flag("--ignore-eos", settings.generation.ignore_eos);
    app.add_option("--template-arg", settings.prompt_template.arguments)->expected(1)->take_all();
    app.add_flag("--hide-thinking", settings.conversation.hide_thinking);
    app.add_flag("--stats", settings.conversation.stats);
}

}  // namespace

std::string dropped_text(size_t n_turns) {
    return fmt::format("the context is full: the {} no longer seen",
                       n_turns == 1 ? "oldest turn is" : fmt::format("oldest {} turns are", n_turns));
}

Talk::Talk(const GenerateArguments& arguments, engine::Engine& engine)
    : settings_(arguments),
      engine_(engine),
      conversation_(engine, 0, message_encoder(engine, arguments.prompt_template)),
      style_(wants_color(arguments.conversation.color, STDOUT_FILENO)),
      session_(open_session(arguments, engine, conversation_, settings_.generation.sampling.seed,
                            [this](const std::string& text) { note(text); })) {
    if (arguments.prompt_template.system) conversation_.set_system(*arguments.prompt_template.system);
}

void Talk::keep() {
    if (session_) session_->save(conversation_, settings_.generation.sampling.seed);
}

void Talk::set(const std::string& name, const std::string& value) {
    GenerateArguments changed = settings_;
    CLI::App app;
    declare_settings(app, changed);
    CLI::Option* option = name.starts_with('-') ? nullptr : app.get_option_no_throw("--" + name);
    if (!option) throw UsageError(fmt::format("/set: there is no option '{}'; /show lists them", name));
    if (value.empty()) {
        if (name == "stop")
            changed.generation.stop.clear();
        else if (name == "template-arg")
            changed.prompt_template.arguments.clear();
        else if (!changed.sampling.forget(name))
            throw UsageError("/set: expected NAME VALUE; /show lists what there is");
        return take(std::move(changed), name);
    }
    changed.sampling.forget_constraint(name);
    std::vector<std::string> words = {fmt::format("--{}={}", name, value)};
    try {
        app.parse(words);
    } catch (const CLI::ParseError& e) {
        throw UsageError(fmt::format("/set {}: {}", name, e.what()));
    }
    take(std::move(changed), name);
}

void Talk::take(GenerateArguments changed, const std::string& name) {
    changed.take_sampling();
    sampling::make_sampler(changed.generation.sampling, engine_.sampler_vocabulary());  // throws now, not at each turn
    // Where no seed was ever given, another one was drawn.
    if (name != "seed") changed.generation.sampling.seed = settings_.generation.sampling.seed;
    if (name == "template-arg") conversation_.set_encode(message_encoder(engine_, changed.prompt_template));
    settings_ = std::move(changed);
}

std::string Talk::show_settings() const {
    GenerateArguments shown = settings_;
    CLI::App app;
    declare_settings(app, shown);
    const auto on_or_off = [](bool on) { return std::string(on ? "on" : "off"); };
    // What CLI11 does not spell out by itself.
    const std::map<std::string, std::string> others = {
        {"greedy", on_or_off(shown.generation.sampling.greedy)},
        {"ignore-eos", on_or_off(shown.generation.ignore_eos)},
        {"hide-thinking", on_or_off(shown.conversation.hide_thinking)},
        {"stats", on_or_off(shown.conversation.stats)},
        {"seed", std::to_string(shown.generation.sampling.seed)},
        {"n-predict", std::to_string(generation_options().n_predict)},
    };
    std::string text;
    for (CLI::Option* option : app.get_options()) {
        const std::string name = option->get_single_name();
        const auto other = others.find(name);
        option->capture_default_str();
        text += fmt::format("{}{} = {}", text.empty() ? "" : "\n", name,
                            other == others.end() ? option->get_default_str() : other->second);
    }
    return text;
}

// A reply takes half of the context at most, unless more is asked for: one that never ends should not push all else
// out.
engine::GenerationOptions Talk::generation_options() const {
    engine::GenerationOptions options = settings_.generation;
    options.n_predict = settings_.n_predict.value_or(std::max<size_t>(engine_.n_ctx() / 2, 1));
    return options;
}

void Talk::note(const std::string& text) const {
    fmt::print(stderr, "{}\n", isatty(STDERR_FILENO) ? style_.dim("(" + text + ")") : "minfer: " + text);
}

void Talk::report(const engine::Generation& g) const {
    if (g.reason == engine::StopReason::ContextFull) note("the context is full; --n-ctx makes it larger");
    if (g.reason == engine::StopReason::Length)
        note(fmt::format("stopped after {} tokens; /set n-predict allows more", g.tokens.size()));
    if (!settings_.conversation.stats) return;
    note(
        fmt::format("prompt {} tokens, {} of them computed, {:.1f} tokens/s; reply {} tokens, {:.1f} tokens/s; context "
                    "{} of {}",
                    g.n_prompt, g.n_computed, g.prompt_rate(), g.tokens.size(), g.generation_rate(),
                    conversation_.held().size(), engine_.n_ctx()));
}

bool Talk::reply(const Make& make) {
    std::optional<ReplyPrinter> printer;
    const Interrupt interrupt;
    const engine::Conversation::Listener listener = {
        .started =
            [&](const std::vector<engine::TokenId>& prompt) {
                const std::span<const engine::TokenId> end =
                    std::span(prompt).last(std::min<size_t>(prompt.size(), 16));
                printer.emplace(style_, settings_.conversation.hide_thinking,
                                chat::opens_reasoning(engine_.tokenizer().decode(end, true)));
            },
        .text = [&](std::string_view text) { printer->write(text); },
        .dropped = [&](size_t n) { note(dropped_text(n)); },
        .interrupted = [&] { return interrupt.interrupted(); },
    };
    const engine::Generation generation = make(generation_options(), listener);
    printer->finish();
    last_thoughts_ = printer->thoughts();
    report(generation);
    return generation.reason != engine::StopReason::Interrupted;
}

bool Talk::ask(const std::string& message) {
    return reply([&](const engine::GenerationOptions& options, const engine::Conversation::Listener& listener) {
        return conversation_.ask(message, options, listener);
    });
}

bool Talk::regenerate() {
    return reply([&](const engine::GenerationOptions& options, const engine::Conversation::Listener& listener) {
        return conversation_.regenerate(options, listener);
    });
}

}  // namespace minfer::cli
