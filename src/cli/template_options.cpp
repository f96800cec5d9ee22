#include "cli/template_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.h"
#include "chat/chat_template.h"
#include "cli/not_empty.h"
#include "cli/read_input.h"

namespace minfer::cli {

void add_template_options(CLI::App& app, TemplateOptions& options) {
    auto* raw = app.add_flag("--no-template", options.raw, "Give the prompt to the model as it is");
    app.add_option("--system", options.system, "A system message to go before the prompt")
        ->excludes(raw)
        ->type_name("TEXT");
    app.add_option("--template", options.file, "A chat template to use in place of the model's own")
        ->check(not_empty)
        ->excludes(raw)
        ->type_name("FILE.jinja");
    app.add_option("--template-arg", options.arguments,
                   "A variable for the template, as JSON or else as text: enable_thinking=false")
        ->expected(1)
        ->take_all()
        ->excludes(raw)
        ->type_name("NAME=VALUE");
}

nlohmann::ordered_json template_variables(const std::vector<std::string>& arguments) {
    nlohmann::ordered_json variables = nlohmann::ordered_json::object();
    for (const std::string& word : arguments) {
        const size_t equals = word.find('=');
        if (equals == std::string::npos || equals == 0)
            throw UsageError(fmt::format("--template-arg: found '{}', expected NAME=VALUE", word));
        const std::string value = word.substr(equals + 1);
        const auto json = nlohmann::ordered_json::parse(value, nullptr, /*allow_exceptions=*/false);
        variables[word.substr(0, equals)] = json.is_discarded() ? nlohmann::ordered_json(value) : json;
    }
    return variables;
}

engine::Conversation::Encode message_encoder(engine::Engine& engine, const TemplateOptions& options) {
    std::optional<std::string> source;
    if (!options.file.empty())
        source = read_whole_file(options.file);
    else if (!options.raw)
        source = chat::ChatTemplate::source_of(engine.file());
    if (!source) {
        if (options.system || !options.arguments.empty())
            throw Error(fmt::format("{}: no chat template for --system and --template-arg; --template FILE names one",
                                    engine.file().path()));
        return [&engine](const std::vector<chat::Message>& messages) {
            std::string text;
            for (const chat::Message& message : messages) text += message.content;
            return engine.tokenizer().encode(text, {.parse_special = true});
        };
    }
    const auto chat_template = std::make_shared<const chat::ChatTemplate>(*source, engine.tokenizer());
    return [chat_template, variables = template_variables(options.arguments)](
               const std::vector<chat::Message>& messages) { return chat_template->encode(messages, variables); };
}

}  // namespace minfer::cli
