// The options that say how words become a prompt: in a chat template, the model's own or another, or raw.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/conversation.h"

namespace CLI {
class App;
}

namespace minfer::cli {

struct TemplateOptions {
    bool raw = false;
    std::string file;
    std::vector<std::string> arguments;  // NAME=VALUE
    std::optional<std::string> system;
};

// --no-template, --system, --template, --template-arg.
void add_template_options(CLI::App& app, TemplateOptions& options);

// The arguments as the template's variables: values are JSON, or else text. Throws UsageError for a word without NAME=.
nlohmann::ordered_json template_variables(const std::vector<std::string>& arguments);

// How the messages of a conversation become tokens. A model without a template gets them raw, one after the other; then
// the words are the user's own, and so are special tokens written out among them. Borrows the engine. Throws what
// reading and parsing the template throws, and Error where --system or --template-arg have no template to go to.
engine::Conversation::Encode message_encoder(engine::Engine& engine, const TemplateOptions& options);

}  // namespace minfer::cli
