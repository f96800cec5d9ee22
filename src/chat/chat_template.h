// A model's own way of writing a conversation: its chat template, rendered as HuggingFace's apply_chat_template renders
// it and turned into tokens. What people wrote stays text: special tokens come from the template alone.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "chat/jinja/template.h"
#include "gguf/reader.h"
#include "tokenizer/tokenizer.h"

namespace minfer::chat {

struct Message {
    std::string role;  // "system", "user", "assistant"
    std::string content;
};

class ChatTemplate {
  public:
    // `source` is Jinja. Throws jinja::TemplateFailure for a mistake in it. Borrows the tokenizer.
    ChatTemplate(std::string_view source, const tokenizer::Tokenizer& tokenizer);

    // The file's tokenizer.chat_template; nothing where it has none.
    static std::optional<std::string> source_of(const gguf::Gguf& file);

    // The conversation as the template writes it, with the opening of the assistant's reply. `arguments` is an object
    // of further variables, such as {"enable_thinking": false}.
    std::string render(const std::vector<Message>& messages, const nlohmann::ordered_json& arguments = {}) const;
    // The same as tokens. No BOS is added: where a model wants one, its template writes it.
    std::vector<tokenizer::TokenId> encode(const std::vector<Message>& messages,
                                           const nlohmann::ordered_json& arguments = {}) const;

  private:
    jinja::Template template_;
    const tokenizer::Tokenizer* tokenizer_;
};

}  // namespace minfer::chat
