// A conversation on one sequence of an engine: each reply computes only what follows the longest prefix that the cache
// already holds.
//
// The whole conversation is rendered anew for each reply, because a template may change what came before (those of
// models that think leave out earlier thoughts). So the tokens are a function of the text, and the cache changes
// nothing but the time.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "chat/transcript.h"
#include "engine/engine.h"
#include "engine/generate.h"

namespace minfer::engine {

class Conversation {
  public:
    // From messages to the tokens of a prompt that asks for the next one.
    using Encode = std::function<std::vector<TokenId>(const std::vector<chat::Message>&)>;

    // Who listens while a reply is made. Empty functions are not called, but for `interrupted`, which must be there.
    struct Listener {
        std::function<void(const std::vector<TokenId>& prompt)> started;  // before anything is computed
        TextSink text;
        std::function<void(size_t n_turns)> dropped;  // oldest turns left out from now on, for the context was full
        std::function<bool()> interrupted;
    };

    // Borrows the engine. The sequence is empty and nobody else's.
    Conversation(Engine& engine, SequenceId sequence, Encode encode);

    const chat::Transcript& transcript() const { return transcript_; }
    // The tokens whose keys and values the sequence holds.
    std::span<const TokenId> held() const { return held_; }
    // Replies drawn so far. Reply i is drawn with options.sampling.seed + i, so that another try can come out
    // differently.
    size_t n_drawn() const { return n_drawn_; }

    // Adds a turn. The transcript is as before where this throws, as encode and generate() do, or is interrupted before
    // the first token; a reply interrupted later stays, as far as it came. Throws ShapeError where the message alone
    // does not fit the context. When the context is full, also in the midst of a reply, the oldest turns are dropped
    // until three quarters of it hold the rest. Bytes that are no UTF-8 stand as U+FFFD in the transcript, which is
    // what the tokenizer makes of them.
    Generation ask(const std::string& user, const GenerationOptions& options, const Listener& listener);
    // Draws the last reply anew. Throws Error where there is none.
    Generation regenerate(const GenerationOptions& options, const Listener& listener);

    // Takes the last turn back. Throws Error where there is none.
    void undo();
    // Forgets all turns; the system message stays.
    void clear();
    void set_system(const std::optional<std::string>& system);
    void set_encode(Encode encode) { encode_ = std::move(encode); }
    // Goes on from another conversation. The cache keeps what both have in common.
    void set_transcript(chat::Transcript transcript, size_t n_drawn = 0);
    // Says what the sequence holds, which was put there by another (engine/session_file.h).
    void set_held(std::vector<TokenId> tokens) { held_ = std::move(tokens); }

  private:
    Generation reply(GenerationOptions options, const Listener& listener);
    bool drop_turns(size_t n_generated, std::vector<TokenId>& prompt, const Listener& listener);

    Engine& engine_;
    SequenceId sequence_;
    Encode encode_;
    chat::Transcript transcript_;
    std::vector<TokenId> held_;
    size_t n_drawn_ = 0;
};

}  // namespace minfer::engine
