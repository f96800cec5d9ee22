// A session of a model as small as one can be, for the session fuzzer and the program that writes what it starts from.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/conversation.h"
#include "kv/layout.h"
#include "model/tiny_file.h"

namespace minfer::test {

// An engine over a model of one layer with one key head of 32 values, and of bytes as tokens.
inline engine::Engine tiny_session_engine(const std::filesystem::path& folder, kv::CellType cells) {
    const std::filesystem::path model = folder / "model.gguf";
    if (!std::filesystem::exists(model)) {
        TinyFile file =
            tiny_file("llama", {.n_layer = 1, .n_head = 1, .n_head_kv = 1, .head_dim = 32, .n_ff = 32, .n_vocab = 258});
        add_byte_tokenizer(file);
        file.write(model);
    }
    return {model.string(), {.n_ctx = 96, .n_threads = 1, .cell_type = cells}};
}

// Messages one after the other, without a template.
inline engine::Conversation::Encode tiny_session_encode(engine::Engine& engine) {
    return [&engine](const std::vector<chat::Message>& messages) {
        std::string text;
        for (const chat::Message& message : messages) text += message.content + "\n";
        return engine.tokenizer().encode(text, {.add_special = false, .parse_special = false});
    };
}

// Adds a turn whose reply is of n tokens at most.
inline void tiny_session_ask(engine::Conversation& conversation, const std::string& user, size_t n) {
    engine::GenerationOptions options;
    options.n_predict = n;
    engine::Conversation::Listener listener;
    listener.interrupted = [] { return false; };
    conversation.ask(user, options, listener);
}

inline constexpr kv::CellType kCellTypes[] = {kv::CellType::F32, kv::CellType::F16, kv::CellType::Q8_0};

}  // namespace minfer::test
