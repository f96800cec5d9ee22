// What the words of `minfer [OPTIONS] [MODEL] [PROMPT]` say, with and without --cnv.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/sampling_options.h"
#include "cli/template_options.h"
#include "engine/engine.h"
#include "engine/generate.h"

namespace minfer::cli {

// Of --cnv alone.
struct ConversationOptions {
    bool on = false;
    bool single_turn = false;
    bool multiline = false;
    bool hide_thinking = false;
    bool stats = false;
    std::string color = "auto";  // "on", "off", "auto"
};

struct GenerateArguments {
    std::vector<std::string> words;  // [MODEL] [PROMPT]
    engine::EngineOptions engine;
    engine::GenerationOptions generation;
    std::optional<size_t> n_predict;
    SamplingOptions sampling;
    bool seed_given = false;
    std::string session;  // a file; empty: none
    std::string dump_graph;
    TemplateOptions prompt_template;
    ConversationOptions conversation;

    // Puts what `sampling` was told into `generation`. Throws UsageError where that does not go together, and as
    // SamplingOptions::params() does.
    void take_sampling();
};

}  // namespace minfer::cli
