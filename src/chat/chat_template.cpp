#include "chat/chat_template.h"

#include <utility>

namespace minfer::chat {

namespace {

using nlohmann::ordered_json;

ordered_json spelling(const tokenizer::Tokenizer& tokenizer, std::optional<tokenizer::TokenId> id) {
    return id ? ordered_json(std::string(tokenizer.piece(*id))) : ordered_json("");
}

// `text_of` says what a message's words become on their way into the template.
template <typename TextOf>
ordered_json variables(const tokenizer::Tokenizer& tokenizer, const std::vector<Message>& messages,
                       const ordered_json& arguments, TextOf text_of) {
    ordered_json result = {{"messages", ordered_json::array()},
                           {"tools", nullptr},
                           {"documents", nullptr},
                           {"add_generation_prompt", true},
                           {"bos_token", spelling(tokenizer, tokenizer.bos())},
                           {"eos_token", spelling(tokenizer, tokenizer.eos())}};
    for (const Message& message : messages)
        result["messages"].push_back({{"role", message.role}, {"content", text_of(message.content)}});
    if (arguments.is_object()) result.update(arguments);
    return result;
}

}  // namespace

ChatTemplate::ChatTemplate(std::string_view source, const tokenizer::Tokenizer& tokenizer)
    : template_(jinja::Template::parse(source)), tokenizer_(&tokenizer) {}

std::optional<std::string> ChatTemplate::source_of(const gguf::Gguf& file) {
    return file.get_if<std::string>("tokenizer.chat_template");
}

std::string ChatTemplate::render(const std::vector<Message>& messages, const ordered_json& arguments) const {
    return template_.render(variables(*tokenizer_, messages, arguments,
                                      [](const std::string& text) -> const std::string& { return text; }));
}

std::vector<tokenizer::TokenId> ChatTemplate::encode(const std::vector<Message>& messages,
                                                     const ordered_json& arguments) const {
    const std::string marked = template_.render(variables(
        *tokenizer_, messages, arguments, [&](const std::string& text) { return tokenizer_->mark_as_text(text); }));
    return tokenizer_->encode(marked, {.add_special = false, .parse_special = true, .text_marks = true});
}

}  // namespace minfer::chat
